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

/// What CollectiveTimer measures.
struct TimingOptions {
  Collective::Kind kind = Collective::Kind::all_reduce;
  DType dtype = DType::f32;
  GroupOptions group = {};  ///< with the algorithm
  std::int64_t iterations = 20;
  std::int64_t warmup = 5;
};

/// A collective of one size. Bytes are those of the tensor that is equal on all ranks.
struct CollectiveTime {
  std::int64_t count = 0;
  std::size_t nbytes = 0;
  double p50 = 0;          ///< seconds of a call on rank 0
  double p99 = 0;          ///< likewise
  double algbw = 0;        ///< bytes a second: nbytes / p50
  double busbw = 0;        ///< algbw times what each link carries of a byte, as nccl-tests has it
  std::int64_t wrong = 0;  ///< elements, on all ranks, that differ from the exact result
  Cost cost;               ///< in bytes
};

/// Times collectives among devices of this process, each on its own thread.
class CollectiveTimer {
 public:
  /// @throws InvalidArgument  a kind other than all_reduce, broadcast, reduce, all_gather and
  ///                          reduce_scatter; bool; counts below one; what make_group refuses; an
  ///                          algorithm that does not have the kind.
  CollectiveTimer(std::span<const Device> devices, TimingOptions options);
  ~CollectiveTimer();
  CollectiveTimer(const CollectiveTimer&) = delete;
  CollectiveTimer& operator=(const CollectiveTimer&) = delete;

  /// Calls in place, one after the other; then one call on whole numbers, which is checked.
  ///
  /// @param nbytes  rounded down to whole elements, as many for each rank where the collective cuts
  ///                a tensor; at least one.
  CollectiveTime run(std::size_t nbytes);

 private:
  class Group;
  std::unique_ptr<Group> group_;
};

/// Seconds of a step, and of a byte.
struct AlphaBeta {
  double alpha = 0;
  double beta = 0;
};

/// The α and β, neither below zero, whose predictions of the medians have the least squared
/// relative errors. One size alone gives β.
AlphaBeta fit(std::span<const CollectiveTime> times);

}  // namespace tandem::comm
