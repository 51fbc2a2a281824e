// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/comparison.hpp"

#include <algorithm>
#include <cmath>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "tandem/core/percentile.hpp"

#include "cli/console.hpp"
#include "cli/validators.hpp"

namespace tandem::cli {
namespace {

ModeResult run_mode(const RunOptions& options,
                    const PreparedRun& prepared,
                    std::int64_t steps,
                    std::int64_t watched_steps) {
  Trial trial(options, prepared.sets, prepared.devices);
  ModeResult result;
  result.mode = options.mode.name;
  trial.run(steps, [&](std::int64_t step, double loss) {
    result.losses.push_back(loss);
    if (options.quiet || step < steps) return;
    console::tell("{}: loss {:.6g} after {} steps\n", result.mode, loss, step);
  });
  const datasets::Dataset& set = *prepared.sets.test;
  datasets::DataLoader test(prepared.sets.test,
                            options.loader(set, datasets::Split::test, prepared.devices.front()));
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
  own.mode.name = mode;
  // What a step does, and not a forward alone, has no gathered outputs.
  if (!own.batch.option_of_step().empty() && !own.mode.loss_in_replica)
    own.mode.loss_in_replica = true;
  return own;
}

}  // namespace

void ComparisonChoice::add_flags(CLI::App& app) {
  const std::vector<std::string> all = mode_names();
  app.add_option_function<std::string>(
         "--modes",
         [this](const std::string& list) { modes = split_list(list); },
         "modes to compare, joined by commas; all weights are compared with those of the first "
         "mode")
      ->check(list_of(CLI::IsMember(all)))
      ->default_str(CLI::detail::join(all, ","));
  run.mode.add_loss_flags(app);
  run.add_flags_but_mode(app);
  app.add_option("--steps", steps, "number of updates in each mode")
      ->check(at_least(1))
      ->capture_default_str();
}

Comparison compare(const ComparisonChoice& choice,
                   std::int64_t watched_steps,
                   const std::vector<GivenFile>& written) {
  const auto several =
      std::ranges::find_if(choice.modes, [](const auto& mode) { return mode != "single"; });
  const std::string& first = several == choice.modes.end() ? choice.modes.front() : *several;
  const PreparedRun prepared = prepare_run(in_mode(choice.run, first), written);
  Comparison comparison;
  comparison.options = prepared.options;
  comparison.steps = choice.steps;
  if (prepared.sets.form.is_text()) comparison.measured = Measured::text;
  auto& modes = comparison.modes;
  for (const std::string& mode : choice.modes) {
    RunOptions options = prepared.options;
    options.mode.loss_in_replica = choice.run.mode.loss_in_replica;
    modes.push_back(run_mode(in_mode(options, mode), prepared, choice.steps, watched_steps));
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
                      options.numbers.dtype,
                      worst <= tolerance ? "equal" : "NOT EQUAL");
  if (worst > tolerance && std::isfinite(worst) && options.numbers.dtype == "f32")
    text +=
        " (rounding can flip a ReLU or a maximum, and the difference grows; --dtype f64 tells this "
        "from an error)";
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
          {"model", options.model.name},
          {"data", options.data.name},
          {"optimizer", options.optimizer.name},
          {"dtype", options.numbers.dtype},
          {"batch", options.batch.full_batch()},
          {"steps", comparison.steps},
          {"seed", options.numbers.first_seed()},
          {"modes", modes}};
}

}  // namespace tandem::cli
