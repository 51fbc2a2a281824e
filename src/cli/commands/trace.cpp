// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/profile/trace.hpp"

#include <string>

#include <CLI/CLI.hpp>

#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/trial.hpp"
#include "cli/validators.hpp"
#include "report/tables.hpp"

namespace tandem::cli {
namespace {

/// Some steps, with what each device did, and when.
struct TraceRequest {
  RunOptions run_options;
  std::int64_t steps = 3;
  std::string output = "trace.json";

  void add_flags(CLI::App& app) {
    run_options.add_flags(app);
    run_options.devices.add_cluster(app, sim::ClusterData::none);
    app.add_option("--steps", steps, "number of steps to trace, after two steps to warm up")
        ->check(at_least(1))
        ->capture_default_str();
    app.add_option(
           "--output", output, "file to write the trace to, for ui.perfetto.dev; - for stdout")
        ->transform(dash_for_stdout())
        ->capture_default_str();
  }
  int run() const;
};

int TraceRequest::run() const {
  const PreparedRun prepared = prepare_run(run_options, {{"--output", output}});
  Trial trial(prepared);
  trial.run(1);
  const report::Recording seen = trial.watch(steps);
  const profile::StepRecord& record = seen.record;
  write_text(output, profile::trace_json(record, seen.memory));
  if (output == "-") return 0;
  console::print(
      "{}: {} pieces of work and {} transfers of {} steps, {:.1f} ms; open it at ui.perfetto.dev\n",
      output,
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

}  // namespace

Command trace_command() {
  return make_command<TraceRequest>(
      "trace", "write what the devices did, and when, to a file for ui.perfetto.dev");
}

}  // namespace tandem::cli
