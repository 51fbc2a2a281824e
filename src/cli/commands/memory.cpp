// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "report/memory.hpp"

#include <limits>
#include <optional>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "tandem/profile/memory_profile.hpp"
#include "tandem/runtime/runtime.hpp"

#include "cli/choices/json_choice.hpp"
#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/formula_table.hpp"
#include "cli/subject.hpp"
#include "cli/trial.hpp"
#include "cli/validators.hpp"

namespace tandem::cli {
namespace {

using Json = nlohmann::json;
using profile::MemoryProfile;

/// Some steps, with what each device held, and why.
struct MemoryRequest {
  RunOptions run_options;
  std::int64_t steps = 3;
  JsonChoice json;

  void add_flags(CLI::App& app) {
    app.footer(
        "Of a program of PyTorch, as it is: tandem memory train.py; tandem run --help has its "
        "options");
    run_options.add_flags(app);
    run_options.devices.add_shape_only(app);
    run_options.devices.add_cluster(app, sim::ClusterData::none);
    begin_subject(app, Subject::steps);
    app.add_option("--steps", steps, "number of steps to take and watch")
        ->check(at_least(1))
        ->capture_default_str();
    json.add_flags(app);
  }
  int run() const;
};

/// What the plan said before the steps; nothing: there was none.
parallel::StepPlan predicted(const RunOptions& options, Trial& trial) {
  const parallel::StepModel* model = trial.task().step_model();
  if (model == nullptr) return {};
  std::vector<std::int64_t> rows;
  for (const RowRange& r : trial.task().plan(options.batch.full_batch()))
    rows.push_back(r.size());
  return model->predict(rows);
}

/// The most rows that keep to the devices' limits; none: no limit, or no plan.
std::optional<std::int64_t> largest_batch(Trial& trial) {
  const parallel::StepModel* model = trial.task().step_model();
  if (model == nullptr) return std::nullopt;
  const std::int64_t rows = model->largest_batch();
  if (rows == std::numeric_limits<std::int64_t>::max()) return std::nullopt;
  return rows;
}

Json to_json(const RunOptions& options,
             std::int64_t steps,
             const MemoryProfile& memory,
             const FormulaTable& formulas,
             Trial& trial) {
  Json report = report::to_json(memory);
  report["formulas"] = formulas.legend();
  report.update({{"model", options.model.name},
                 {"data", options.data.name},
                 {"mode", options.mode.name},
                 {"dtype", options.numbers.dtype},
                 {"batch", options.batch.full_batch()},
                 {"shape_only", !trial.has_data()},
                 {"cluster", trial.machine().to_json()},
                 {"steps", steps}});
  const parallel::StepPlan plan = predicted(options, trial);
  const bool has_times = trial.has_data() && !trial.machine().is_simulated();
  for (std::size_t d = 0; d < memory.devices.size(); ++d) {
    Json& device = report["devices"][d];
    device["rows"] = trial.devices()[d].rows;
    device["formulas"] = formulas.to_json(d);
    if (plan.rows.empty()) continue;
    device["predicted_peak_bytes"] = plan.peak_bytes[d];
    device["predicted_ms"] = has_times ? Json(plan.ms[d]) : Json();
  }
  if (!plan.rows.empty()) {
    const std::optional<std::int64_t> most = largest_batch(trial);
    report["largest_batch"] = most ? Json(*most) : Json();
  }
  return report;
}

void print(const RunOptions& options,
           std::int64_t steps,
           const MemoryProfile& memory,
           const FormulaTable& formulas,
           Trial& trial) {
  const parallel::StepPlan plan = predicted(options, trial);
  std::vector<report::MemoryNote> notes;
  for (std::size_t d = 0; d < memory.devices.size(); ++d)
    notes.push_back({trial.devices()[d].rows,
                     plan.rows.empty() ? std::nullopt : std::optional(plan.peak_bytes[d])});
  console::print("{} on {}, {}, batches of {} rows, {} steps{}: memory at its peak, by cause\n{}",
                 options.model.name,
                 options.data.name,
                 options.mode.name,
                 options.batch.full_batch(),
                 steps,
                 !trial.has_data() ? " that computed nothing (shape-only)" : "",
                 report::text(memory, notes, kRemedies));
  console::print("\n{}", formulas.text());
  if (const auto fitting = largest_batch(trial))
    console::print("\nlargest batch within the limits: about {} rows\n", *fitting);
  if (!memory.complete)
    console::print("\nThis is incomplete: the host had no memory to keep every change\n");
}

int MemoryRequest::run() const {
  const PreparedRun prepared = prepare_run(run_options, {json.given_file()});
  const RunOptions& options = prepared.options;
  Trial trial(prepared);
  if (options.batch.is_planned())
    trial.run(1);  // the plan is measured by steps without effect, which are not watched
  const MemoryProfile memory =
      profile::record_memory(trial.task().devices(), [&] { trial.run(steps); });
  const FormulaTable formulas(options, trial, memory);
  json.write([&] { return to_json(options, steps, memory, formulas, trial); });
  if (json.leaves_text()) print(options, steps, memory, formulas, trial);
  return 0;
}

}  // namespace

Command memory_command() {
  return make_command<MemoryRequest>({.name = "memory",
                                      .summary = "say what fills each device at its peak, by cause",
                                      .purpose = Purpose::start,
                                      .first_flags = {"--model",
                                                      "--data",
                                                      "--devices",
                                                      "--mode",
                                                      "--batch",
                                                      "--optimizer",
                                                      "--steps",
                                                      "--cluster",
                                                      "--shape-only",
                                                      "--json"}});
}

}  // namespace tandem::cli
