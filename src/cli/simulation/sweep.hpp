// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tandem/sim/cluster.hpp"

#include "cli/task_options.hpp"

namespace tandem::cli {

/// Which steps a sweep takes: all combinations.
struct SweepAxes {
  std::vector<std::string> modes;
  std::vector<std::int64_t> gpus;
  std::vector<std::int64_t> rows;  ///< of the batch, for each GPU
  std::vector<double> bandwidths;  ///< of all links, as multiples of the machine's
};

/// One simulated step.
struct SweepPoint {
  std::string mode;
  int gpus = 0;
  std::int64_t rows = 0;  ///< for each GPU
  double bandwidth = 1;
  /// Nothing: a GPU is too small.
  struct Result {
    double seconds = 0;
    /// Rows a second of each GPU, as a part of what one GPU alone does; none: that does not fit.
    std::optional<double> efficiency = std::nullopt;
    std::size_t first_peak = 0;  ///< bytes of GPU 0
    std::size_t other_peak = 0;  ///< of the fullest other; 0: there is none
  };
  std::optional<Result> result = std::nullopt;
};

/// The machine with links that are so many times as fast: NVLinks, PCIe, the host's way, network
/// cards, and reductions inside the switch. Latencies stay.
sim::Cluster with_bandwidth(sim::Cluster cluster, double times);

/// Simulates a step for each combination; a mode that needs several GPUs is left out for one.
///
/// @param on_point  is told of each
/// @throws UsageError  options that do not go together, or more GPUs than there are.
std::vector<SweepPoint> sweep(const TaskOptions& task,
                              const sim::Cluster& cluster,
                              const SweepAxes& axes,
                              const std::function<void(const SweepPoint&)>& on_point);

}  // namespace tandem::cli
