// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/simulation/sweep.hpp"

#include <algorithm>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "tandem/profile/step_record.hpp"
#include "tandem/sim/simulate.hpp"

#include "cli/choices/cluster_choice.hpp"
#include "cli/choices/json_choice.hpp"
#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/models.hpp"
#include "cli/subject.hpp"
#include "cli/usage_error.hpp"
#include "cli/validators.hpp"
#include "explain/simulated_json.hpp"
#include "parallel/update/mode_table.hpp"

namespace tandem::cli {
namespace {

using Json = nlohmann::json;

/// The modes in which each device has the whole model, and one device alone.
std::vector<std::string> modes_with_whole_models() {
  std::vector<std::string> modes{kSingleDevice};
  for (const parallel::ModeRules& row : parallel::mode_table())
    if (!row.has_units()) modes.emplace_back(row.words.option);
  return modes;
}

/// Simulated steps by number of GPUs, rows, bandwidth and mode.
struct SweepRequest {
  ClusterChoice cluster;
  TaskOptions task;
  SweepAxes axes{.modes = modes_with_whole_models(), .gpus = {}, .rows = {}, .bandwidths = {1}};
  std::optional<int> nodes;
  JsonChoice json;

  void add_flags(CLI::App& app);
  int run() const;
};

void SweepRequest::add_flags(CLI::App& app) {
  cluster.add_flags(app);
  const auto numbers = [&app](const char* name, std::vector<std::int64_t>& into, const char* what) {
    return app
        .add_option_function<std::string>(
            name, [&into](const std::string& list) { into = split_numbers(list); }, what)
        ->check(list_of(at_least(1)));
  };
  begin_subject(app, Subject::mode);
  app.add_option_function<std::string>(
         "--modes",
         [this](const std::string& list) { axes.modes = split_list(list); },
         "modes, joined by commas")
      ->transform(list_of(known_mode()))
      ->default_str(CLI::detail::join(axes.modes, ","));
  begin_subject(app, Subject::batch);
  numbers("--rows-per-gpu",
          axes.rows,
          "rows of a batch for each GPU, joined by commas (default: 32 images, or 4 texts)");
  begin_subject(app, Subject::machine);
  numbers("--gpus", axes.gpus, "numbers of GPUs, joined by commas (default: 1, 2, 4 ... to all)");
  app.add_option_function<std::string>(
         "--bandwidths",
         [this](const std::string& list) {
           axes.bandwidths.clear();
           for (const std::string& one : split_list(list))
             axes.bandwidths.push_back(std::stod(one));
         },
         "bandwidths of all links, as multiples of the machine's, joined by commas")
      ->check(list_of(within(0.001, 1000)))
      ->default_str("1");
  app.add_option("--nodes", nodes, "number of nodes alike, instead of the description's")
      ->check(at_least(1));
  task.mode.add_loss_flags(app);
  task.add_flags_but_mode(app);
  task.devices.collectives.add_flags(app);
  json.add_flags(app);
}

/// Leaves out of a list what it has before.
template <class T>
void drop_repeated(std::vector<T>& list) {
  std::vector<T> once;
  for (T& value : list)
    if (std::ranges::find(once, value) == once.end()) once.push_back(std::move(value));
  list = std::move(once);
}

/// Where the loss is calculated, as tables of measured steps name it.
const char* loss_place(const TaskOptions& task, const SweepPoint& point) {
  ModeChoice mode = task.mode;
  mode.name = point.mode;
  return mode.has_loss_in_replica() ? "replica" : "output_device";
}

/// The machine of all points: what is known of some of them is not told.
profile::SimulatedMachine simulated_machine(const sim::Cluster& cluster,
                                            const TaskOptions& task,
                                            const SweepAxes& axes) {
  sim::Cluster machine = cluster;
  for (const double times : axes.bandwidths)
    if (times != 1) machine = with_bandwidth(cluster, times);
  return sim::simulated_machine(
      machine,
      cluster.gpu_count(),
      {.collectives = task.devices.collectives.times(), .question = task.question(axes.modes)});
}

Json to_json(const sim::Cluster& cluster,
             const TaskOptions& task,
             const SweepAxes& axes,
             const std::vector<SweepPoint>& points) {
  Json rows = Json::array();
  for (const SweepPoint& point : points) {
    Json row{{"mode", point.mode},
             {"loss", loss_place(task, point)},
             {"gpus", point.gpus},
             {"rows_per_gpu", point.rows},
             {"bandwidth", point.bandwidth},
             {"fits", point.result.has_value()}};
    if (const auto& r = point.result) {
      row.update({{"step_ms", r->seconds * 1e3},
                  {"rows_per_second", static_cast<double>(point.rows * point.gpus) / r->seconds},
                  {"efficiency", r->efficiency ? Json(*r->efficiency) : Json()},
                  {"gpu0_peak_bytes", r->first_peak},
                  {"other_peak_bytes", r->other_peak > 0 ? Json(r->other_peak) : Json()}});
    }
    rows.push_back(std::move(row));
  }
  const Json machine = tandem::parallel::simulated_json(simulated_machine(cluster, task, axes));
  return {{"schema_version", 1},
          {"simulated", true},
          {"cluster", cluster.name},
          {"known_error", machine["known_error"]},
          {"model", task.model.name},
          {"dtype", task.numbers.dtype},
          {"collectives", machine["collectives"]},
          {"points", std::move(rows)}};
}

void print_head(const sim::Cluster& cluster, const TaskOptions& task, const SweepAxes& axes) {
  const profile::SimulatedMachine machine = simulated_machine(cluster, task, axes);
  console::print(
      "{} in {} on {}, simulated{}: a step by GPUs, rows for each, bandwidth of links, "
      "mode, and where the loss is\n({})\n\n",
      task.model.name,
      task.numbers.dtype,
      console::shown(machine.name),
      machine.collectives_as_run ? ", collectives as run" : "",
      console::shown(profile::describe_error(machine)));
  console::print("{:>5} {:>9} {:>9}  {:<20} {:<13} {:>10} {:>10} {:>10} {:>10} {:>10}\n",
                 "GPUs",
                 "rows/GPU",
                 "bandwidth",
                 "mode",
                 "loss",
                 "step ms",
                 "rows/s",
                 "efficiency",
                 "GPU 0",
                 "others");
}

void print(const TaskOptions& task, const SweepPoint& point) {
  const std::string left = fmt::format("{:>5} {:>9} {:>9g}  {:<20} {:<13}",
                                       point.gpus,
                                       point.rows,
                                       point.bandwidth,
                                       point.mode,
                                       loss_place(task, point));
  if (!point.result) {
    console::print("{} does not fit the GPUs' memory\n", left);
    return;
  }
  const SweepPoint::Result& r = *point.result;
  console::print("{} {:>10.2f} {:>10.1f} {:>10} {:>10} {:>10}\n",
                 left,
                 r.seconds * 1e3,
                 static_cast<double>(point.rows * point.gpus) / r.seconds,
                 r.efficiency ? fmt::format("{:.1f} %", *r.efficiency * 100) : "-",
                 format_nbytes(r.first_peak),
                 r.other_peak > 0 ? format_nbytes(r.other_peak) : "-");
}

int SweepRequest::run() const {
  check_files({json.given_file()});
  if (task.batch.rows > 0)
    throw UsageError("a sweep has a batch for each number of GPUs; give --rows-per-gpu");
  if (!task.devices.list.empty())
    throw UsageError("--devices are of this machine, and a sweep is simulated; give --gpus");
  sim::Cluster machine = cluster.cluster();
  if (nodes) machine.nodes = *nodes;
  try {
    sim::check(machine);
  } catch (const InvalidArgument& e) {
    throw UsageError(tandem::detail::concat("--nodes: ", e.what()));
  }
  TaskOptions own = task;
  own.resolve();
  SweepAxes all = axes;
  for (std::int64_t n = 1; axes.gpus.empty() && n <= machine.gpu_count(); n *= 2)
    all.gpus.push_back(n);
  if (all.rows.empty()) all.rows = {model_of(own.model.name).reads_text ? 4 : 32};
  drop_repeated(all.modes);
  drop_repeated(all.gpus);
  drop_repeated(all.rows);
  drop_repeated(all.bandwidths);
  bool has_head = false;
  const std::vector<SweepPoint> points = sweep(own, machine, all, [&](const SweepPoint& point) {
    if (!json.leaves_text()) return;
    if (!std::exchange(has_head, true)) print_head(machine, own, all);
    print(own, point);
  });
  json.write([&] { return to_json(machine, own, all, points); });
  return 0;
}

}  // namespace

Command cluster_sweep_command() {
  return make_command<SweepRequest>(
      {.name = "cluster sweep",
       .summary = "predict a step by GPUs, rows, bandwidth of links and mode",
       .purpose = Purpose::machines,
       .first_flags = {"--cluster",
                       "--model",
                       "--modes",
                       "--gpus",
                       "--rows-per-gpu",
                       "--bandwidths",
                       "--nodes",
                       "--dtype",
                       "--collectives",
                       "--json"}});
}

}  // namespace tandem::cli
