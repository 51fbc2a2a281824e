// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/simulation/machine.hpp"

#include <memory>

#include "tandem/explain/explain.hpp"
#include "tandem/sim/simulate.hpp"
#include "tandem/sim/simulate_memory.hpp"
#include "tandem/sim/step_clock.hpp"

#include "explain/simulated_json.hpp"

namespace tandem::cli {

profile::StepRecord Machine::timed(const profile::StepRecord& record,
                                   const std::vector<Device>& devices) const {
  if (!cluster_) return record;
  return sim::simulate(record, cluster_->cluster, devices, options());
}

report::Recording Machine::timed(const report::Recording& recording,
                                 const std::vector<Device>& devices) const {
  if (!cluster_) return recording;
  report::Recording result;
  result.steps = recording.steps;
  result.record = timed(recording.record, devices);
  result.memory = sim::simulate_memory(recording.memory, result.record);
  result.time = parallel::explain(result.record);
  return result;
}

Machine::Clock Machine::clock(const std::vector<Device>& devices) const {
  if (cluster_) {
    const auto clock = std::make_shared<sim::StepClock>(cluster_->cluster, devices, options());
    return [clock](const std::function<void()>& step) { return clock->time(step); };
  }
  return [](const std::function<void()>& step) {
    const auto start = std::chrono::steady_clock::now();
    step();
    return std::chrono::steady_clock::now() - start;
  };
}

std::optional<profile::SimulatedMachine> Machine::simulated(int gpus) const {
  if (!cluster_) return std::nullopt;
  return sim::simulated_machine(cluster_->cluster, gpus, options());
}

std::optional<std::string> Machine::description(int gpus) const {
  const auto machine = simulated(gpus);
  return machine ? std::optional(profile::describe(*machine)) : std::nullopt;
}

nlohmann::json Machine::to_json() const {
  return parallel::simulated_json(simulated(static_cast<int>(devices_.size())));
}

}  // namespace tandem::cli
