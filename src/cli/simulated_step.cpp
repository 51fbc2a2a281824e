// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/simulated_step.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "tandem/core/check.hpp"
#include "tandem/explain/explain.hpp"
#include "tandem/ops/autocast.hpp"
#include "tandem/runtime/logical_device.hpp"
#include "tandem/sim/configure.hpp"
#include "tandem/sim/simulate.hpp"

#include "cli/choices/optimizer_choice.hpp"
#include "cli/console.hpp"
#include "cli/models.hpp"
#include "cli/random_batch.hpp"
#include "cli/usage_error.hpp"

namespace tandem::cli {
namespace {

using profile::Duration;
using profile::StepRecord;

/// More GPUs than that are not taken one by one where they do the same.
constexpr int kMostDevices = 16;
constexpr int kMostGpus = 63;  // virtual devices beside the host
constexpr int kWarmup = 2;     // the first step makes the optimizer's state, and buckets may change

double ms(Duration time) noexcept {
  return static_cast<double>(time.count()) * 1e-6;
}

SimulatedStep::Gpu figures_of(const StepRecord& record, Device device) {
  SimulatedStep::Gpu gpu{.peak = logical_device(device).memory_stats().peak};
  for (const profile::WorkSpan& span : record.work)
    if (span.device == device)
      (span.is_collective() ? gpu.exposed : gpu.work) += span.end - span.begin;
  for (const profile::SideSpan& span : record.side_work)
    if (span.device == device) gpu.collectives += span.end - span.begin;
  return gpu;
}

/// How many devices stand for GPUs that all do the same, with the same number of rows.
///
/// @param options  get the rows of these devices.
int share_rows(TaskOptions& options, int gpus) {
  if (options.mode.name != "ddp" && gpus > kMostGpus && !options.mode.is_single())
    throw UsageError(tandem::detail::concat("mode ",
                                            options.mode.name,
                                            " is simulated GPU by GPU, for at most ",
                                            kMostGpus,
                                            " of them, and --gpus is ",
                                            gpus,
                                            "; give fewer, or mode ddp, in which all do the same"));
  if (options.mode.name != "ddp" || gpus <= kMostDevices) return gpus;
  if (options.batch.rows % gpus != 0 || options.batch.policy() ||
      !options.batch.chunk_sizes.empty() || options.batch.gpu0_bsz)
    throw UsageError(tandem::detail::concat("more than ",
                                            kMostDevices,
                                            " GPUs are simulated with the same rows on each, and "
                                            "--batch is ",
                                            options.batch.rows,
                                            " on ",
                                            gpus,
                                            " GPUs; give a multiple, and leave out --chunks, "
                                            "--chunk-sizes and --gpu0-bsz"));
  constexpr int kDevices = 2;
  options.batch.rows = options.batch.rows / gpus * kDevices;
  return kDevices;
}

}  // namespace

SimulatedStep simulate_step(TaskOptions options, const sim::Cluster& cluster, int gpus) {
  options.resolve();
  const std::int64_t rows = options.batch.rows;
  const sim::ClusterDevices devices = sim::configure_cluster(cluster, share_rows(options, gpus));
  const Model& model = model_of(options.model.name);
  const DataForm form = random_form(model);
  const auto own = make_task(options, form, parallel_options(options, devices.gpus));
  const auto optimizer = OptimizerChoice().make(own->module(), model.adam_eps);
  const datasets::Batch batch = random_batch(options, form, devices.host);
  std::optional<Autocast> mixed;
  if (const auto products = options.numbers.products()) mixed.emplace(*products);
  for (const Device device : own->devices())
    logical_device(device).reset_peak();
  for (int i = 0; i < kWarmup; ++i)
    own->step(batch, *optimizer);
  const StepRecord record = sim::simulate(profile::record([&] { own->step(batch, *optimizer); }),
                                          cluster,
                                          own->devices(),
                                          {.gpus = options.mode.is_single() ? 1 : gpus});
  SimulatedStep step{.model = model.name,
                     .mode = options.mode.name,
                     .rows = rows,
                     .seconds = ms(record.duration) * 1e-3,
                     .gpu_count = options.mode.is_single() ? 1 : gpus,
                     .gpus = {},
                     .explanation = parallel::explain(record)};
  for (const Device device : own->devices())
    step.gpus.push_back(figures_of(record, device));
  return step;
}

nlohmann::json to_json(const SimulatedStep& step, const sim::Cluster& cluster) {
  nlohmann::json gpus = nlohmann::json::array();
  for (const SimulatedStep::Gpu& gpu : step.gpus)
    gpus.push_back({{"work_ms", ms(gpu.work)},
                    {"collectives_ms", ms(gpu.collectives)},
                    {"exposed_ms", ms(gpu.exposed)},
                    {"peak_bytes", gpu.peak}});
  return {{"schema_version", 1},
          {"simulated", true},
          {"cluster", cluster.name},
          {"model", step.model},
          {"mode", step.mode},
          {"rows", step.rows},
          {"step_ms", step.seconds * 1e3},
          {"gpu_count", step.gpu_count},
          {"rows_per_second", static_cast<double>(step.rows) / step.seconds},
          {"gpus", std::move(gpus)},
          {"explanation", nlohmann::json::parse(step.explanation.json())}};
}

void print(const SimulatedStep& step, const sim::Cluster& cluster) {
  constexpr double kGiB = 1 << 30;
  const double limit = (cluster.gpus.memory - cluster.gpus.reserved_memory) / kGiB;
  console::print("{}, mode {}, {} rows on {} of {}: simulated, no GPU was used\n",
                 step.model,
                 step.mode,
                 step.rows,
                 step.gpu_count,
                 console::shown(cluster.name));
  console::print("step {:.3f} ms, {:.1f} rows/s\n\n",
                 step.seconds * 1e3,
                 static_cast<double>(step.rows) / step.seconds);
  console::print("{:>4} {:>12} {:>15} {:>12} {:>10}\n",
                 "GPU",
                 "work ms",
                 "collectives ms",
                 "exposed ms",
                 "peak GiB");
  for (std::size_t i = 0; i < step.gpus.size(); ++i) {
    const SimulatedStep::Gpu& gpu = step.gpus[i];
    console::print("{:>4} {:>12.3f} {:>15.3f} {:>12.3f} {:>10.2f}\n",
                   i,
                   ms(gpu.work),
                   ms(gpu.collectives),
                   ms(gpu.exposed),
                   static_cast<double>(gpu.peak) / kGiB);
  }
  if (step.gpu_count > static_cast<int>(step.gpus.size()))
    console::print(" ... {:>9} more that do the same as the last\n",
                   step.gpu_count - static_cast<int>(step.gpus.size()));
  console::print("\nEach GPU has {:.1f} GiB for the program.\n", limit);
}

}  // namespace tandem::cli
