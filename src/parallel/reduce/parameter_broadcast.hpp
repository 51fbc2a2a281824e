// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "tandem/comm/communicator.hpp"
#include "tandem/optim/arena.hpp"
#include "tandem/runtime/transit.hpp"

#include "parallel/reduce/buckets.hpp"

namespace tandem::parallel {

/// Makes work that uses `values`, which are under way, wait for `handle` first. The wait counts for
/// the bucket of the caller's context.
void note_transit(const Tensor& values, Transit::Way way, std::shared_ptr<comm::Handle> handle);

/// Values of a rank that are received, or sent, while it computes. Work that uses them waits for
/// them. To be used on the rank's thread.
class ParameterBroadcast {
 public:
  ParameterBroadcast() = default;
  ~ParameterBroadcast() { drop(); }
  ParameterBroadcast(const ParameterBroadcast&) = delete;
  ParameterBroadcast& operator=(const ParameterBroadcast&) = delete;

  /// Sends device 0's values to the others, in `buckets`. @throws Desync, CommAborted, Timeout
  void start(const optim::Arena& values,
             const std::vector<Bucket>& buckets,
             comm::Communicator& group);
  /// Waits for everything still under way. @throws Desync, CommAborted, Timeout
  void finish();
  /// Forgets what is under way; values that have not arrived are lost.
  void drop() noexcept;

 private:
  std::vector<Tensor> blocks_;
};

}  // namespace tandem::parallel
