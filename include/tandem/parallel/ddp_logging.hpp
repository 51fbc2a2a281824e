// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tandem::parallel {

/// Where the time of a rank's iterations went, measured by the host's clock.
struct DdpTimes {
  std::chrono::nanoseconds forward_compute{};   ///< the wrapper's call
  std::chrono::nanoseconds backward_compute{};  ///< from the end of forward to the last gradient
  std::chrono::nanoseconds backward_comm{};     ///< from the first bucket's start to the last's end
  /// The part of backward_comm before the last gradient was ready.
  std::chrono::nanoseconds backward_compute_comm_overlap{};
};

/// What a DistributedDataParallel has done so far, with the names of PyTorch's logging data.
struct DdpLoggingData {
  int world_size = 1;
  int rank = 0;
  std::int64_t iterations = 0;  ///< reductions completed
  std::size_t num_parameter_tensors = 0;
  std::size_t total_parameter_size_bytes = 0;
  bool has_rebuilt_buckets = false;
  std::vector<std::size_t> bucket_sizes;          ///< in bytes, as planned
  std::vector<std::size_t> rebuilt_bucket_sizes;  ///< in bytes; empty before the rebuild
  /// Names of parameters in the order in which this rank's last backward completed their gradients.
  std::vector<std::string> prev_iteration_grad_ready_order;
  DdpTimes last;
  DdpTimes avg;  ///< mean of all iterations
};

}  // namespace tandem::parallel
