// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/explain/explain.hpp"

#include <optional>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "tandem/ops/autocast.hpp"

#include "cli/choices/json_choice.hpp"
#include "cli/choices/optimizer_choice.hpp"
#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/models.hpp"
#include "cli/random_batch.hpp"
#include "cli/task_options.hpp"

namespace tandem::cli {
namespace {

constexpr int kWarmup = 2;  // steps that fill the caches of allocators and libraries

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
  const Machine machine = options.devices.machine();
  const Model& model = model_of(options.model.name);
  const DataForm form = random_form(model);
  const auto own = make_task(options, form, parallel_options(options, machine.devices()));
  const auto optimizer = OptimizerChoice().make(own->module(), model.adam_eps);
  const datasets::Batch batch = random_batch(options, form, machine.batch_device());
  std::optional<Autocast> mixed;
  if (const auto products = options.numbers.products()) mixed.emplace(*products);
  for (int i = 0; i < kWarmup; ++i)
    own->step(batch, *optimizer);
  const profile::StepRecord record = profile::record([&] { own->step(batch, *optimizer); });
  const parallel::Explanation explanation =
      parallel::explain(machine.timed(record, own->devices()));
  json.write([&] { return nlohmann::json::parse(explanation.json()); });
  if (json.leaves_text()) console::print("{}, {}", model.name, explanation.text());
  return 0;
}

}  // namespace

Command explain_command() {
  return make_command<ExplainRequest>("explain",
                                      "say what one training step did, on which device and link");
}

}  // namespace tandem::cli
