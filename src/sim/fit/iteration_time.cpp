// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "sim/fit/iteration_time.hpp"

#include <chrono>

#include "tandem/sim/simulate.hpp"
#include "tandem/sim/step_clock.hpp"

namespace tandem::sim {

double iteration_time(const Cluster& cluster, const IterationRecord& step, double kernel_speed) {
  const SimulateOptions options{
      .gpus = step.gpus, .kernel_speed = kernel_speed, .copies_buckets = step.copies_buckets};
  const profile::Duration time =
      step.before.work.empty()
          ? simulate(step.record, cluster, step.devices, options).duration
          : time_after(step.before, step.record, cluster, step.devices, options);
  return std::chrono::duration<double>(time).count();
}

}  // namespace tandem::sim
