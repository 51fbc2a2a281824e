// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tandem/comm/algorithms.hpp"
#include "tandem/comm/group.hpp"

namespace tandem::comm {

/// What a CollectiveTimer measures.
struct TimingOptions {
  Collective::Kind kind = Collective::Kind::all_reduce;
  DType dtype = DType::f32;
  GroupOptions group = {};  ///< names the algorithm, too
  std::int64_t iterations = 20;
  std::int64_t warmup = 5;
};

/// The times of a collective for one size: that of the tensor that is equally large on all ranks.
struct CollectiveTime {
  std::int64_t count = 0;
  std::size_t nbytes = 0;
  double p50 = 0;          ///< median time of a call on this process's first rank, in seconds
  double p99 = 0;          ///< the 99th percentile, likewise
  double algbw = 0;        ///< bytes per second: nbytes / p50
  double busbw = 0;        ///< algbw times the bytes that each link carries per byte (nccl-tests)
  std::int64_t wrong = 0;  ///< number of elements, on all ranks, that differ from the exact result
  Cost cost;               ///< in bytes
};

/// Times collectives among devices of this process, or of all processes of a world, each of which
/// has a timer. Each device runs on its own thread.
class CollectiveTimer {
 public:
  /// @throws InvalidArgument  the kind is not all_reduce, broadcast, reduce, all_gather or
  ///                          reduce_scatter; the dtype is bool; iterations is below 1 or warmup
  ///                          below 0; make_group refuses the options; or the algorithm does not
  ///                          have the kind.
  CollectiveTimer(std::span<const Device> devices, TimingOptions options);
  ~CollectiveTimer();
  CollectiveTimer(const CollectiveTimer&) = delete;
  CollectiveTimer& operator=(const CollectiveTimer&) = delete;

  /// Times calls in place, one after another. Then checks the result of one call on whole numbers.
  ///
  /// @param nbytes  rounded down to whole elements, but at least one. For all_gather and
  ///                reduce_scatter, rounded to an equal number for each rank.
  CollectiveTime run(std::size_t nbytes);
  int ranks() const noexcept;

 private:
  class Group;
  std::unique_ptr<Group> group_;
};

/// Seconds per step (α) and per byte (β).
struct AlphaBeta {
  double alpha = 0;
  double beta = 0;
};

/// Fits α and β, neither below zero, so that their predictions of the medians have the least
/// squared relative errors. From one size alone, only β is fitted, and α is 0.
AlphaBeta fit(std::span<const CollectiveTime> times);

}  // namespace tandem::comm
