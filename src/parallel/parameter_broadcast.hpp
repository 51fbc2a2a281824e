// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "tandem/comm/communicator.hpp"
#include "tandem/optim/arena.hpp"
#include "tandem/runtime/transit.hpp"

#include "parallel/buckets.hpp"

namespace tandem::parallel {

/// Work on `values`, which are on their way, waits for `handle` first, as of the bucket of the
/// caller's context.
void note_transit(const Tensor& values, Transit::Way way, std::shared_ptr<comm::Handle> handle);

/// Values of a rank that come from others, or go to them, while it computes: work that touches them
/// waits for them. Used on the rank's thread.
class ParameterBroadcast {
 public:
  ParameterBroadcast() = default;
  ~ParameterBroadcast() { drop(); }
  ParameterBroadcast(const ParameterBroadcast&) = delete;
  ParameterBroadcast& operator=(const ParameterBroadcast&) = delete;

  /// Device 0's values go out, in `buckets`. @throws Desync, CommAborted, Timeout
  void start(const optim::Arena& values,
             const std::vector<Bucket>& buckets,
             comm::Communicator& group);
  /// Waits for what is still under way. @throws Desync, CommAborted, Timeout
  void finish();
  /// Forgets it: the values that have not come are of no use.
  void drop() noexcept;

 private:
  std::vector<Tensor> blocks_;
};

}  // namespace tandem::parallel
