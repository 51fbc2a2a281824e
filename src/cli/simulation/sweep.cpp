// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/simulation/sweep.hpp"

#include <algorithm>
#include <map>

#include "tandem/core/check.hpp"
#include "tandem/core/error.hpp"

#include "cli/simulation/simulated_step.hpp"
#include "cli/usage_error.hpp"

namespace tandem::cli {
namespace {

/// Nothing: a GPU is too small.
std::optional<SimulatedStep> step_of(const TaskOptions& task,
                                     const sim::Cluster& cluster,
                                     const SweepPoint& point) {
  TaskOptions own = task;
  own.mode.name = point.mode;
  own.batch.rows = point.rows * point.gpus;
  try {
    return simulate_step(own, cluster, point.gpus);
  } catch (const std::exception& e) {
    if (find_cause<OutOfMemory>(e) == nullptr) throw;
    return std::nullopt;
  }
}

/// How long one GPU alone takes, by rows, which gathers nothing; none: it is too small.
class Alone {
 public:
  Alone(const TaskOptions& task, const sim::Cluster& cluster) : task_(task), cluster_(cluster) {
    task_.mode = {};
  }

  std::optional<double> seconds(std::int64_t rows) {
    const auto known = seconds_.find(rows);
    if (known != seconds_.end()) return known->second;
    const auto step = step_of(task_, cluster_, {.mode = kSingleDevice, .gpus = 1, .rows = rows});
    return seconds_[rows] = step ? std::optional(step->seconds) : std::nullopt;
  }

 private:
  TaskOptions task_;
  const sim::Cluster& cluster_;
  std::map<std::int64_t, std::optional<double>> seconds_;
};

SweepPoint::Result result_of(const SimulatedStep& step, std::optional<double> alone) {
  SweepPoint::Result result{.seconds = step.seconds, .first_peak = step.gpus.front().peak};
  if (alone) result.efficiency = *alone / step.seconds;
  for (std::size_t i = 1; i < step.gpus.size(); ++i)
    result.other_peak = std::max(result.other_peak, step.gpus[i].peak);
  return result;
}

void check_gpus(const sim::Cluster& cluster, const std::vector<std::int64_t>& gpus) {
  const std::int64_t most = *std::ranges::max_element(gpus);
  if (most > cluster.gpu_count())
    throw UsageError(
        tandem::detail::concat("--gpus has ",
                               most,
                               ", and ",
                               cluster.name,
                               " has ",
                               cluster.gpu_count(),
                               " GPUs; give fewer, or --nodes for more machines alike"));
}

}  // namespace

sim::Cluster with_bandwidth(sim::Cluster cluster, double times) {
  const auto scale = [&](std::optional<double>& rate) {
    if (rate) *rate *= times;
  };
  if (cluster.nvlink) cluster.nvlink->bandwidth *= times;
  cluster.pcie.bandwidth *= times;
  scale(cluster.pcie.uplink_bandwidth);
  scale(cluster.pcie.socket_bandwidth);
  cluster.host.bandwidth *= times;
  cluster.host.total_bandwidth *= times;
  if (cluster.nics) cluster.nics->bandwidth *= times;
  if (cluster.collectives.nvls) cluster.collectives.nvls->bandwidth *= times;
  return cluster;
}

std::vector<SweepPoint> sweep(const TaskOptions& task,
                              const sim::Cluster& cluster,
                              const SweepAxes& axes,
                              const std::function<void(const SweepPoint&)>& on_point) {
  check_gpus(cluster, axes.gpus);
  Alone alone(task, cluster);
  std::vector<SweepPoint> points;
  for (const double bandwidth : axes.bandwidths) {
    const sim::Cluster scaled = with_bandwidth(cluster, bandwidth);
    for (const std::int64_t rows : axes.rows) {
      for (const std::int64_t gpus : axes.gpus) {
        for (const std::string& mode : axes.modes) {
          if ((mode == kSingleDevice) != (gpus == 1)) continue;
          SweepPoint point{
              .mode = mode, .gpus = static_cast<int>(gpus), .rows = rows, .bandwidth = bandwidth};
          if (const auto step = step_of(task, scaled, point))
            point.result = result_of(*step, alone.seconds(rows));
          if (on_point) on_point(point);
          points.push_back(std::move(point));
        }
      }
    }
  }
  return points;
}

}  // namespace tandem::cli
