// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <bit>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "tandem/core/check.hpp"
#include "tandem/sim/all_reduce_comparison.hpp"
#include "tandem/sim/iteration_comparison.hpp"
#include "tandem/sim/iteration_table.hpp"
#include "tandem/sim/timing_table.hpp"

#include "cli/choices/cluster_choice.hpp"
#include "cli/choices/json_choice.hpp"
#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/simulation/iteration_report.hpp"
#include "cli/simulation/iteration_steps.hpp"
#include "cli/simulation/simulated_step.hpp"
#include "cli/subject.hpp"
#include "cli/task_options.hpp"
#include "cli/usage_error.hpp"
#include "cli/validators.hpp"

namespace tandem::cli {
namespace {

using Json = nlohmann::json;
using sim::AllReduceComparison;

/// A training step, or a table of measured steps or all-reduces.
struct SimulateRequest {
  ClusterChoice cluster;
  TaskOptions task;
  std::string table;       ///< of all-reduces
  std::string iterations;  ///< a table of steps
  bool given_single = false;
  std::optional<int> gpus;
  JsonChoice json;
  std::vector<std::string> of_step;  ///< given options that a table says, or has by default

  void add_flags(CLI::App& app) {
    cluster.add_flags(app);
    begin_subject(app, Subject::tables);
    app.add_option("--allreduce",
                   table,
                   "table of measured all-reduces to predict, instead of a training step: "
                   "bytes,out_of_place_ns,in_place_ns");
    app.add_option("--iterations",
                   iterations,
                   "table of measured training steps to predict: its first line names the columns "
                   "model,mode,gpus,batch,context,measured_ms, and if need be dtype, bucket_mb, "
                   "bucket_copies, loss, optimizer and name");
    app.add_flag("--given-single",
                 given_single,
                 "with --iterations, scale the speed of the kernels so that the rows of one GPU "
                 "are exact, and predict the others");
    begin_subject(app, Subject::machine);
    app.add_option("--gpus",
                   gpus,
                   "number of GPUs, by default all of the cluster; of a table, by default the one "
                   "that its name ends in, as times_n8.csv")
        ->check(at_least(1));
    const auto before = app.get_options().size();
    task.add_flags(app);
    task.devices.collectives.add_flags(app);
    const auto after = app.get_options().size();
    app.parse_complete_callback([this, &app, before, after] {
      const auto options = app.get_options();
      for (const CLI::Option* option : std::span(options).subspan(before, after - before))
        if (option->count() > 0) of_step.push_back(option->get_name());
    });
    json.add_flags(app);
  }
  int run() const;

 private:
  void check() const;
  void compare_table(const sim::Cluster& machine) const;
  void compare_steps(const sim::Cluster& machine) const;
  void take_step(const sim::Cluster& machine) const;
};

Json comparison_json(const sim::Cluster& cluster,
                     const sim::TimingTable& table,
                     const AllReduceComparison& c) {
  Json rows = Json::array();
  for (const AllReduceComparison::Row& row : c.rows) {
    rows.push_back({{"bytes", row.nbytes},
                    {"measured_us", row.measured * 1e6},
                    {"predicted_us", row.predicted * 1e6},
                    {"algorithm", row.algorithm}});
  }
  return {{"schema_version", 1},
          {"cluster", cluster.name},
          {"gpus", table.gpus},
          {"table", table.name},
          {"rows", rows},
          {"mape", c.error.all * 100},
          {"mape_powers_of_two", c.error.powers_of_two * 100},
          {"null_model",
           {{"busbw_GBps", c.null_bandwidth * 1e-9},
            {"mape", c.null_error.all * 100},
            {"mape_powers_of_two", c.null_error.powers_of_two * 100}}}};
}

void print_comparison(const sim::Cluster& cluster,
                      const sim::TimingTable& table,
                      const AllReduceComparison& c) {
  console::print("all_reduce among {} GPUs of {}, simulated; times of {}\n\n",
                 table.gpus,
                 console::shown(cluster.name),
                 console::shown(table.name));
  console::print(
      "{:>12} {:>13} {:>13} {:>8}   algorithm\n", "bytes", "measured us", "predicted us", "error");
  for (const AllReduceComparison::Row& row : c.rows) {
    if (!std::has_single_bit(row.nbytes) && &row != &c.rows.back()) continue;
    console::print("{:>12} {:>13.1f} {:>13.1f} {:>+7.1f}%   {}\n",
                   row.nbytes,
                   row.measured * 1e6,
                   row.predicted * 1e6,
                   (row.predicted / row.measured - 1) * 100,
                   row.algorithm);
  }
  console::print("\nmean error of all {} rows: {:.2f} %; of those of a power of two: {:.2f} %\n",
                 c.rows.size(),
                 c.error.all * 100,
                 c.error.powers_of_two * 100);
  console::print("null model, {:.1f} GB/s on the bus fitted to this table: {:.2f} %; {:.2f} %\n",
                 c.null_bandwidth * 1e-9,
                 c.null_error.all * 100,
                 c.null_error.powers_of_two * 100);
}

/// What `compare` returns. @throws UsageError  the tables do not fit the cluster.
template <class Compare>
auto compared(const Compare& compare) {
  try {
    return compare();
  } catch (const InvalidArgument& e) {
    throw UsageError(e.what());
  }
}

void SimulateRequest::check() const {
  if (!table.empty() && !iterations.empty())
    throw UsageError("--allreduce and --iterations are two tables; give one of them");
  if (given_single && iterations.empty())
    throw UsageError("--given-single is for a table of steps; give --iterations too");
  if (task.devices.collectives.is_as_run() && !(table.empty() && iterations.empty()))
    throw UsageError(
        "--collectives as-run is for a step of one model, and tables are predicted as of a "
        "library; leave it out");
  if (table.empty() && iterations.empty()) return;
  if (!of_step.empty())
    throw UsageError(tandem::detail::concat(
        of_step.front(),
        " is of a step of one model, and ",
        table.empty()
            ? "--iterations has a table whose columns say each step; leave it out, or give "
              "the model's name in the column model"
            : "--allreduce has a table of collectives; leave it out"));
  if (gpus && !iterations.empty())
    throw UsageError("--gpus: a column of --iterations says it for each row; leave it out");
}

void SimulateRequest::compare_table(const sim::Cluster& machine) const {
  const sim::TimingTable times = sim::read_timing_table(table, gpus);
  const auto result = compared([&] { return sim::compare_all_reduce(machine, times); });
  json.write([&] { return comparison_json(machine, times, result); });
  if (json.leaves_text()) print_comparison(machine, times, result);
}

void SimulateRequest::compare_steps(const sim::Cluster& machine) const {
  const sim::IterationTable steps = sim::read_iteration_table(iterations);
  const auto records = record_iterations(steps, machine);
  const auto result = compared([&] {
    return sim::compare_iterations(machine, steps, records, {.given_single = given_single});
  });
  json.write([&] {
    Json object = iterations_json(steps, result);
    object.update({{"schema_version", 1},
                   {"simulated", true},
                   {"cluster", machine.name},
                   {"given_single", given_single}});
    return object;
  });
  if (!json.leaves_text()) return;
  console::print("training steps on {}, simulated; times of {}\n\n",
                 console::shown(machine.name),
                 console::shown(steps.name));
  print_iterations(steps, result);
}

void SimulateRequest::take_step(const sim::Cluster& machine) const {
  const int count = asked_gpus(machine, gpus);
  if (!task.devices.list.empty())
    throw UsageError(
        "--devices are of this machine, and the step is simulated on the cluster's GPUs; give "
        "--gpus");
  const SimulatedStep step = simulate_step(task, machine, count);
  json.write([&] { return to_json(step); });
  if (json.leaves_text()) print(step, machine);
}

int SimulateRequest::run() const {
  check();
  check_files({json.given_file()});
  const sim::Cluster machine = cluster.cluster();
  if (!table.empty())
    compare_table(machine);
  else if (!iterations.empty())
    compare_steps(machine);
  else
    take_step(machine);
  return 0;
}

}  // namespace

Command cluster_simulate_command() {
  return make_command<SimulateRequest>(
      {.name = "cluster simulate",
       .summary = "predict the times of a training step, or of collectives",
       .purpose = Purpose::machines,
       .first_flags = {"--cluster",
                       "--gpus",
                       "--model",
                       "--mode",
                       "--batch",
                       "--dtype",
                       "--iterations",
                       "--allreduce",
                       "--given-single",
                       "--json"}});
}

}  // namespace tandem::cli
