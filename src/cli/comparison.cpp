// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/comparison.hpp"

#include <algorithm>

#include <CLI/CLI.hpp>

#include "tandem/core/percentile.hpp"
#include "tandem/nn/difference.hpp"
#include "tandem/train/loop.hpp"

#include "cli/choices/cluster_choice.hpp"
#include "cli/console.hpp"
#include "cli/output.hpp"
#include "cli/subject.hpp"
#include "cli/trial.hpp"
#include "cli/usage_error.hpp"
#include "cli/validators.hpp"

namespace tandem::cli {
namespace {

/// How the model does on the rest of the data.
report::Test test(Trial& trial, const RunOptions& options, const PreparedRun& prepared) {
  const auto& set = prepared.sets.test;
  datasets::DataLoader loader(
      set, options.loader(*set, datasets::Split::test, prepared.machine.devices().front()));
  const training::Measure measured = training::measure(trial.task(), loader);
  const Measured by = prepared.sets.form.is_text() ? Measured::text : Measured::images;
  return {measured.loss,
          measured.accuracy,
          describe_test({.test_loss = measured.loss, .test_accuracy = measured.accuracy}, by)};
}

/// @param weights  set to those after the steps; to nothing where nothing is computed.
report::Mode run_mode(const RunOptions& options,
                      const PreparedRun& prepared,
                      std::int64_t steps,
                      std::int64_t watched_steps,
                      nn::NamedValues& weights) {
  Trial trial(options, prepared.sets, prepared.machine);
  report::Mode mode;
  mode.mode = options.mode.name;
  if (!options.mode.is_single()) mode.words = parallel::words_of(options.mode.mode());
  trial.run(steps, [&](std::int64_t step, double loss) {
    if (trial.has_data()) mode.losses.push_back(loss);
    if (options.quiet || step < steps) return;
    if (trial.has_data())
      console::tell("{}: loss {:.6g} after {} steps\n", mode.mode, loss, step);
    else
      console::tell("{}: {} steps\n", mode.mode, step);
  });
  mode.p50 = percentile(trial.step_ms(), 0.5);
  mode.p90 = percentile(trial.step_ms(), 0.9);
  mode.devices = trial.devices();
  if (trial.has_data()) {
    mode.test = test(trial, options, prepared);
    weights = trial.weights();
  }
  if (watched_steps > 0) mode.recording = trial.watch(watched_steps);  // which trains on
  return mode;
}

report::Comparison described(const RunOptions& options, std::int64_t steps) {
  report::Comparison comparison;
  comparison.model = options.model.name;
  comparison.data = options.data.name;
  comparison.optimizer = options.optimizer.name;
  comparison.dtype = options.numbers.dtype;
  comparison.batch = options.batch.full_batch();
  comparison.steps = steps;
  comparison.processes = options.processes();
  comparison.seed = options.numbers.first_seed();
  comparison.tolerance = tolerance_of(options);
  comparison.remedies = kRemedies;
  return comparison;
}

RunOptions in_mode(const RunOptions& options, const std::string& mode) {
  if (mode == kSingleDevice) return on_one_device(options);
  RunOptions own = options;
  own.mode.name = mode;
  // What a step does, and not a forward alone, has no gathered outputs.
  if (!own.batch.option_of_step().empty() && !own.mode.loss_in_replica)
    own.mode.loss_in_replica = true;
  return own;
}

/// Where nothing is computed, only the times of a simulated machine mean anything.
void check_times(const DeviceChoice& devices) {
  if (devices.shape_only && !simulated_cluster(devices.cluster, devices.list))
    throw UsageError(
        "--shape-only computes nothing, so only the times of a simulated machine can be compared; "
        "give --cluster too");
}

}  // namespace

void ComparisonChoice::add_flags(CLI::App& app) {
  begin_subject(app, Subject::mode);
  const std::vector<std::string> all = mode_names();
  app.add_option_function<std::string>(
         "--modes",
         [this](const std::string& list) { modes = split_list(list); },
         "modes to compare, joined by commas; all weights are compared with those of the first "
         "mode")
      ->transform(list_of(known_mode()))
      ->default_str(CLI::detail::join(all, ","));
  run.mode.add_flags(app);
  run.add_flags_but_mode(app);
  run.add_training_flags(app);
  run.devices.add_cluster(app, sim::ClusterData::kept);
  begin_subject(app, Subject::devices);
  app.add_flag("--shape-only",
               run.devices.shape_only,
               "compute nothing, and compare memory and time alone: for models that are too large "
               "for this machine; needs --cluster or TANDEM_CLUSTER, since simulated time does not "
               "depend on values");
  begin_subject(app, Subject::steps);
  app.add_option("--steps", steps, "number of updates in each mode")
      ->check(at_least(1))
      ->capture_default_str();
}

report::Comparison compare(const ComparisonChoice& choice,
                           std::int64_t watched_steps,
                           const std::vector<GivenFile>& written) {
  check_times(choice.run.devices);
  const auto several =
      std::ranges::find_if(choice.modes, [](const auto& mode) { return mode != kSingleDevice; });
  const std::string& first = several == choice.modes.end() ? choice.modes.front() : *several;
  const PreparedRun prepared = prepare_run(in_mode(choice.run, first), written);
  report::Comparison comparison = described(prepared.options, choice.steps);
  const int gpus = static_cast<int>(prepared.machine.devices().size());
  comparison.simulated = prepared.machine.description(gpus).value_or("");
  auto& modes = comparison.modes;
  nn::NamedValues first_weights;
  for (const std::string& mode : choice.modes) {
    RunOptions options = prepared.options;
    options.mode.loss_in_replica = choice.run.mode.loss_in_replica;
    nn::NamedValues weights;
    modes.push_back(
        run_mode(in_mode(options, mode), prepared, choice.steps, watched_steps, weights));
    if (modes.size() == 1) first_weights = weights;
    modes.back().difference = nn::difference(weights, first_weights);
  }
  return comparison;
}

}  // namespace tandem::cli
