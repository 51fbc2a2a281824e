// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "tandem/comm/communicator.hpp"

namespace tandem::parallel {

/// What processes have summed of their buckets, added up over the processes, in the order of the
/// buckets. Where there is one process, there are no sums.
///
/// To be used on the replica's own thread.
class ProcessSums {
 public:
  /// The buckets of a backward follow.
  ///
  /// @param processes  null: there is one process.
  void begin(comm::Communicator* processes);
  /// Whether some of the first `buckets` are not being added up yet, and are to be.
  bool lag_behind(std::size_t buckets) const noexcept {
    return processes_ != nullptr && sums_.size() < buckets;
  }
  /// The bucket whose sum is to be started next.
  std::size_t next() const noexcept { return sums_.size(); }
  /// Starts to add up what this replica has got of that bucket.
  ///
  /// @param part  undefined: nothing.
  void start(const Tensor& part);
  /// Waits for the sum of a bucket, if it was started.
  void wait(std::size_t bucket);
  /// Forgets the backward.
  void clear() noexcept;

 private:
  comm::Communicator* processes_ = nullptr;
  std::vector<comm::Handle> sums_;  // of the first buckets
};

}  // namespace tandem::parallel
