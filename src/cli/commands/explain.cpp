// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/explain/explain.hpp"

#include <cstdint>
#include <span>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "tandem/profile/trace.hpp"

#include "cli/choices/json_choice.hpp"
#include "cli/choices/optimizer_choice.hpp"
#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/random_steps.hpp"
#include "cli/subject.hpp"
#include "cli/trial.hpp"
#include "cli/validators.hpp"
#include "report/tables.hpp"

namespace tandem::cli {
namespace {

/// One step on random data, as it was executed; or some steps of a training, with what each device
/// did, and when.
struct ExplainRequest {
  RunOptions run_options;
  std::int64_t steps = 3;
  std::string trace;  ///< a file; empty: none
  JsonChoice json;

  void add_flags(CLI::App& app);
  int run() const;

 private:
  int explain_step() const;
  int trace_steps() const;
};

void ExplainRequest::add_flags(CLI::App& app) {
  run_options.TaskOptions::add_flags(app);
  run_options.devices.add_cluster(app, sim::ClusterData::none);
  begin_subject(app, Subject::output);
  auto* traced = app.add_option("--trace",
                                trace,
                                "instead of one step on random data, take some on a data set, and "
                                "write what each device did, and when, to this file, for "
                                "ui.perfetto.dev; - for stdout")
                     ->option_text("FILE")
                     ->transform(dash_for_stdout());
  json.add_flags(app);
  const auto before = app.get_options().size();
  run_options.add_training_flags(app);
  begin_subject(app, Subject::steps);
  app.add_option("--steps", steps, "number of steps to trace, after two steps to warm up")
      ->check(at_least(1))
      ->capture_default_str();
  const auto options = app.get_options();
  for (CLI::Option* option : std::span(options).subspan(before))
    option->needs(traced);
}

int ExplainRequest::explain_step() const {
  TaskOptions options = static_cast<const TaskOptions&>(run_options);
  options.resolve();
  check_files({json.given_file()});
  Machine machine = options.devices.machine();
  machine.ask(options.question({options.mode.name}));
  RandomSteps random(options,
                     OptimizerChoice(),
                     parallel_options(options, machine.devices()),
                     machine.batch_device());
  random.warm_up();
  const profile::StepRecord record = profile::record([&] { random.step(); });
  const parallel::Explanation explanation =
      parallel::explain(machine.timed(record, random.devices()));
  json.write([&] { return nlohmann::json::parse(explanation.json()); });
  if (json.leaves_text()) console::print("{}, {}", options.model.name, explanation.text());
  return 0;
}

int ExplainRequest::trace_steps() const {
  const PreparedRun prepared = prepare_run(run_options, {{"--trace", trace}, json.given_file()});
  Trial trial(prepared);
  trial.run(1);
  const report::Recording seen = trial.watch(steps);
  const profile::StepRecord& record = seen.record;
  write_text(trace, profile::trace_json(record, seen.memory));
  json.write([&] { return nlohmann::json::parse(seen.time.json()); });
  if (trace == "-" || !json.leaves_text()) return 0;
  console::print(
      "{}: {} pieces of work and {} transfers of {} steps, {:.1f} ms; open it at ui.perfetto.dev\n",
      trace,
      record.work.size(),
      record.transfers.size(),
      steps,
      report::ms(record.duration));
  if (record.simulated) console::print("Its times are {}.\n", profile::describe(*record.simulated));
  if (!seen.is_complete())
    console::print(
        "This is incomplete: the host had no memory to keep everything, or a GPU's times could not "
        "be read\n");
  console::print("\n{}", report::time_table(seen.time, steps));
  return 0;
}

int ExplainRequest::run() const {
  return trace.empty() ? explain_step() : trace_steps();
}

}  // namespace

Command explain_command() {
  return make_command<ExplainRequest>(
      {.name = "explain",
       .summary = "say what a training step did, on which device and link",
       .purpose = Purpose::start,
       .first_flags = {"--model",
                       "--devices",
                       "--mode",
                       "--batch",
                       "--cluster",
                       "--gpus",
                       "--trace",
                       "--data",
                       "--steps",
                       "--json"}});
}

}  // namespace tandem::cli
