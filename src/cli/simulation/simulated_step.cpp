// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/simulation/simulated_step.hpp"

#include <cstddef>
#include <utility>

#include <nlohmann/json.hpp>

#include "tandem/explain/explain.hpp"
#include "tandem/sim/simulate.hpp"
#include "tandem/sim/step_clock.hpp"

#include "cli/console.hpp"
#include "cli/simulation/recorded_step.hpp"
#include "explain/simulated_json.hpp"

namespace tandem::cli {
namespace {

using profile::Duration;
using profile::StepRecord;

double ms(Duration time) noexcept {
  return static_cast<double>(time.count()) * 1e-6;
}

}  // namespace

SimulatedStep simulate_step(TaskOptions options, const sim::Cluster& cluster, int gpus) {
  options.resolve();
  const auto [step, peaks] = record_step({.task = options}, cluster, gpus);
  const sim::SimulateOptions timing{.gpus = step.gpus,
                                    .collectives = options.devices.collectives.times(),
                                    .question = options.question({options.mode.name})};
  const StepRecord record = sim::simulate(step.record, cluster, step.devices, timing);
  const sim::FollowedStep followed =
      sim::simulate_after(step.before, step.record, cluster, step.devices, timing);
  SimulatedStep simulated{.model = options.model.name,
                          .mode = options.mode.name,
                          .dtype = options.numbers.dtype,
                          .rows = options.batch.rows,
                          .seconds = ms(followed.end - followed.begin) * 1e-3,
                          .machine = sim::simulated_machine(cluster, step.gpus, timing),
                          .gpus = {},
                          .explanation = parallel::explain(record)};
  for (std::size_t d = 0; d < step.devices.size(); ++d)
    simulated.gpus.push_back(figures_of(followed, step.devices[d], peaks[d]));
  return simulated;
}

nlohmann::json to_json(const SimulatedStep& step) {
  nlohmann::json gpus = nlohmann::json::array();
  for (const GpuFigures& gpu : step.gpus)
    gpus.push_back({{"work_ms", ms(gpu.work)},
                    {"collectives_ms", ms(gpu.collectives)},
                    {"exposed_ms", ms(gpu.exposed)},
                    {"copies_ms", ms(gpu.copies)},
                    {"idle_ms", ms(gpu.idle)},
                    {"peak_bytes", gpu.peak}});
  const nlohmann::json machine = parallel::simulated_json(step.machine);
  return {{"schema_version", 1},
          {"simulated", true},
          {"cluster", step.machine.name},
          {"known_error", machine["known_error"]},
          {"model", step.model},
          {"mode", step.mode},
          {"dtype", step.dtype},
          {"rows", step.rows},
          {"step_ms", step.seconds * 1e3},
          {"gpu_count", step.machine.gpus},
          {"collectives", machine["collectives"]},
          {"rows_per_second", static_cast<double>(step.rows) / step.seconds},
          {"gpus", std::move(gpus)},
          {"explanation", nlohmann::json::parse(step.explanation.json())}};
}

void print(const SimulatedStep& step, const sim::Cluster& cluster) {
  constexpr double kGiB = 1 << 30;
  const double limit = (cluster.gpus.memory - cluster.gpus.reserved_memory) / kGiB;
  console::print("{}, mode {}, {} rows, {}\n({})\n",
                 step.model,
                 step.mode,
                 step.rows,
                 step.dtype,
                 console::shown(profile::describe(step.machine)));
  console::print("step {:.3f} ms, {:.1f} rows/s\n\n",
                 step.seconds * 1e3,
                 static_cast<double>(step.rows) / step.seconds);
  console::print("{:>4} {:>12} {:>12} {:>10} {:>10} {:>15} {:>10}\n",
                 "GPU",
                 "work ms",
                 "exposed ms",
                 "copies ms",
                 "idle ms",
                 "collectives ms",
                 "peak GiB");
  for (std::size_t i = 0; i < step.gpus.size(); ++i) {
    const GpuFigures& gpu = step.gpus[i];
    console::print("{:>4} {:>12.3f} {:>12.3f} {:>10.3f} {:>10.3f} {:>15.3f} {:>10.2f}\n",
                   i,
                   ms(gpu.work),
                   ms(gpu.exposed),
                   ms(gpu.copies),
                   ms(gpu.idle),
                   ms(gpu.collectives),
                   static_cast<double>(gpu.peak) / kGiB);
  }
  if (step.machine.gpus > static_cast<int>(step.gpus.size()))
    console::print(" ... {:>9} more that do the same as the last\n",
                   step.machine.gpus - static_cast<int>(step.gpus.size()));
  console::print(
      "\nWork, exposed collectives, copies that nothing hides and idle time are the step.\n");
  console::print("Each GPU has {:.1f} GiB for the program.\n", limit);
}

}  // namespace tandem::cli
