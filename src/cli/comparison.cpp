// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/comparison.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "tandem/core/percentile.hpp"

#include "cli/console.hpp"
#include "cli/setup.hpp"

namespace tandem::cli {
namespace {

ModeResult run_mode(const RunOptions& options,
                    const DataSets& sets,
                    const std::vector<Device>& devices,
                    std::int64_t watched_steps) {
  Trial trial(options, sets, devices);
  ModeResult result;
  result.mode = options.mode;
  trial.run(*options.steps, [&](std::int64_t step, double loss) {
    result.losses.push_back(loss);
    if (options.quiet || step < *options.steps) return;
    console::tell("{}: loss {:.6g} after {} steps\n", options.mode, loss, step);
  });
  datasets::DataLoader test(
      sets.test, loader_options(options, *sets.test, datasets::Split::test, devices.front()));
  const training::Measure measured = training::measure(trial.task(), test);
  result.p50 = percentile(trial.step_ms(), 0.5);
  result.p90 = percentile(trial.step_ms(), 0.9);
  result.weights = trial.weights();
  result.test = {.test_loss = measured.loss, .test_accuracy = measured.accuracy};
  result.devices = trial.devices();
  if (watched_steps > 0) result.details = watch(trial, watched_steps);  // which trains on
  return result;
}

RunOptions in_mode(const RunOptions& options, const std::string& mode) {
  if (mode == "single") return on_one_device(options);
  RunOptions own = options;
  own.mode = mode;
  // What a step does, and not a forward alone, has no gathered outputs.
  if (!option_of_step(own).empty() && !own.loss_in_replica) own.loss_in_replica = true;
  return own;
}

}  // namespace

Comparison compare(const CompareRequest& request, std::int64_t watched_steps) {
  Comparison comparison;
  comparison.options = resolve(request.run);
  RunOptions& options = comparison.options;
  options.steps = options.steps.value_or(20);
  const std::vector<Device> devices = working_devices(options);
  const DataSets sets = load_data(options);
  if (sets.is_text()) comparison.measured = Measured::text;
  auto& modes = comparison.modes;
  for (const std::string& mode : request.modes) {
    modes.push_back(run_mode(in_mode(options, mode), sets, devices, watched_steps));
    modes.back().difference = nn::difference(modes.back().weights, modes.front().weights);
  }
  return comparison;
}

std::string describe_weights(const Comparison& comparison) {
  const RunOptions& options = comparison.options;
  double worst = 0;
  for (const ModeResult& m : comparison.modes)
    worst = std::max(worst, m.difference.value);
  std::string text =
      fmt::format("weights: at most {:.1e} from {}'s", worst, comparison.modes.front().mode);
  const double tolerance = tolerance_of(options);
  if (tolerance <= 0) return text;
  text += fmt::format(", {:.0e} is allowed in {}: {}",
                      tolerance,
                      options.dtype,
                      worst <= tolerance ? "equal" : "NOT EQUAL");
  if (worst > tolerance && std::isfinite(worst) && options.dtype == "f32")
    text +=
        " (rounding can flip a ReLU or a maximum, and that grows; --dtype f64 tells it from an "
        "error)";
  return text;
}

nlohmann::json to_json(const Comparison& comparison) {
  auto modes = nlohmann::json::array();
  for (const ModeResult& m : comparison.modes) {
    auto devices = nlohmann::json::array();
    for (std::size_t i = 0; i < m.devices.size(); ++i) {
      const TrialDevice& d = m.devices[i];
      devices.push_back({{"name", to_string(d.device)},
                         {"rows", d.rows},
                         {"peak_bytes", d.peak_bytes},
                         {"peak_by_category", peak_by_category(m.watched(), i)},
                         {"ms_by_phase", ms_by_phase(m.watched(), d.device)},
                         {"bytes_sent", d.bytes_sent},
                         {"bytes_received", d.bytes_received}});
    }
    modes.push_back({{"mode", m.mode},
                     {"step_ms", {{"p50", m.p50}, {"p90", m.p90}}},
                     {"max_relative_difference", finite(m.difference.value)},
                     {"worst_tensor", m.difference.tensor},
                     {"test_accuracy", m.test.test_accuracy},
                     {"test_loss", finite(m.test.test_loss)},
                     {"overlap", m.watched().time.overlap.share()},
                     {"imbalance", m.watched().memory.imbalance()},
                     {"complete", m.is_complete()},
                     {"links", links(m.watched())},
                     {"devices", devices}});
  }
  const RunOptions& options = comparison.options;
  return {{"schema_version", 1},
          {"model", options.model},
          {"data", options.data},
          {"optimizer", options.optimizer},
          {"dtype", options.dtype},
          {"batch", options.batch},
          {"steps", *options.steps},
          {"seed", seed_of(options)},
          {"modes", modes}};
}

}  // namespace tandem::cli
