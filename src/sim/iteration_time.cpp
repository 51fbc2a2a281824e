// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "sim/iteration_time.hpp"

#include <chrono>

#include "tandem/sim/simulate.hpp"

namespace tandem::sim {

double iteration_time(const Cluster& cluster, const IterationRecord& step, double kernel_speed) {
  const profile::StepRecord record = simulate(
      step.record,
      cluster,
      step.devices,
      {.gpus = step.gpus, .kernel_speed = kernel_speed, .copies_buckets = step.copies_buckets});
  return std::chrono::duration<double>(record.duration).count();
}

}  // namespace tandem::sim
