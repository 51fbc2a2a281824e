// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/explain/explain.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/choices/json_choice.hpp"
#include "cli/choices/optimizer_choice.hpp"
#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/random_steps.hpp"
#include "cli/task_options.hpp"

namespace tandem::cli {
namespace {

/// One step on random data, as it was executed.
struct ExplainRequest {
  TaskOptions task;
  JsonChoice json;

  void add_flags(CLI::App& app) {
    task.add_flags(app);
    task.devices.add_cluster(app, sim::ClusterData::none);
    json.add_flags(app);
  }
  int run() const;
};

int ExplainRequest::run() const {
  TaskOptions options = task;
  options.resolve();
  check_files({json.given_file()});
  Machine machine = options.devices.machine();
  machine.ask(options.question({options.mode.name}));
  RandomSteps steps(options,
                    OptimizerChoice(),
                    parallel_options(options, machine.devices()),
                    machine.batch_device());
  steps.warm_up();
  const profile::StepRecord record = profile::record([&] { steps.step(); });
  const parallel::Explanation explanation =
      parallel::explain(machine.timed(record, steps.devices()));
  json.write([&] { return nlohmann::json::parse(explanation.json()); });
  if (json.leaves_text()) console::print("{}, {}", options.model.name, explanation.text());
  return 0;
}

}  // namespace

Command explain_command() {
  return make_command<ExplainRequest>("explain",
                                      "say what one training step did, on which device and link");
}

}  // namespace tandem::cli
