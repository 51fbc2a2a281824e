// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tandem/comm/communicator.hpp"
#include "tandem/optim/arena_layout.hpp"
#include "tandem/parallel/ddp_logging.hpp"

#include "parallel/reduce/buckets.hpp"

namespace tandem::parallel {

/// Collects DistributedDataParallel's logging data on one rank.
///
/// To be used on the rank's thread.
class IterationLog {
 public:
  using Clock = std::chrono::steady_clock;

  /// @param layout  must outlive this object.
  IterationLog(const comm::Communicator& comm, const optim::ArenaLayout& layout);

  void note_planned(const std::vector<Bucket>& buckets);
  void note_rebuilt(const std::vector<Bucket>& buckets);
  bool has_rebuilt() const noexcept { return data_.has_rebuilt_buckets; }

  void begin_forward() noexcept { forward_begin_ = Clock::now(); }
  void end_forward() noexcept { forward_end_ = last_gradient_ = Clock::now(); }
  /// A backward has made a gradient.
  void note_gradient() noexcept { last_gradient_ = Clock::now(); }
  /// A reduction has been completed.
  ///
  /// @param ready  places, in the order in which their gradients were made.
  void note_reduction(const std::vector<std::size_t>& ready);
  /// Takes the times of the iteration that has just been noted.
  ///
  /// @param first_launch  when the first bucket's reduction was started; none: at no time.
  void note_times(std::optional<Clock::time_point> first_launch);

  DdpLoggingData data() const;

 private:
  const optim::ArenaLayout& layout_;
  DdpLoggingData data_;                  // all but the order of gradients
  std::vector<std::size_t> last_ready_;  // of the last iteration
  std::int64_t timed_ = 0;               // iterations in data_.avg
  Clock::time_point forward_begin_, forward_end_, last_gradient_;
};

}  // namespace tandem::parallel
