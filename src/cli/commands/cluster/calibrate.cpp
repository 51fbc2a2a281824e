// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <glob.h>

#include "tandem/sim/calibration.hpp"
#include "tandem/sim/iteration_calibration.hpp"

#include "cli/choices/cluster_choice.hpp"
#include "cli/choices/device_choice.hpp"
#include "cli/choices/json_choice.hpp"
#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/host/host_measurement.hpp"
#include "cli/simulation/iteration_report.hpp"
#include "cli/simulation/iteration_steps.hpp"
#include "cli/subject.hpp"
#include "cli/usage_error.hpp"
#include "cli/validators.hpp"

namespace tandem::cli {
namespace {

using Json = nlohmann::json;

struct CalibrateRequest {
  ClusterChoice cluster;
  bool host = false;  ///< make a description of this machine's virtual devices
  DeviceChoice devices;
  std::vector<std::string> tables;  ///< of all-reduces
  std::string iterations;           ///< a table of steps
  std::string output;
  JsonChoice json;

  void add_flags(CLI::App& app) {
    cluster.add_flags(app);
    begin_subject(app, Subject::machine);
    app.add_flag("--host",
                 host,
                 "measure this machine, and describe it: each GPU is one of its virtual devices; "
                 "in place of --cluster and tables");
    devices.add_flags(app);
    begin_subject(app, Subject::tables);
    app.add_option("--allreduce",
                   tables,
                   "tables of measured all-reduces, as files or patterns like 'times_n*.csv': "
                   "bytes,out_of_place_ns,in_place_ns of the number of GPUs that ends the name");
    app.add_option("--iterations",
                   iterations,
                   "table of measured training steps, as that of tandem cluster simulate: fits the "
                   "efficiency of products, and of rings unless --allreduce is given too");
    begin_subject(app, Subject::output);
    app.add_option(
           "--output", output, "file for the description with the fitted constants; - for stdout")
        ->required()
        ->transform(dash_for_stdout());
    json.add_flags(app);
  }
  int run() const;

 private:
  int run_host() const;
  void check_choices() const;
};

/// The files that patterns name, sorted within each. @throws UsageError  a pattern names none.
std::vector<std::string> files_of(const std::vector<std::string>& patterns) {
  std::vector<std::string> files;
  for (const std::string& pattern : patterns) {
    glob_t found{};
    const bool is_found = ::glob(pattern.c_str(), 0, nullptr, &found) == 0;
    for (std::size_t i = 0; is_found && i < found.gl_pathc; ++i)
      files.emplace_back(found.gl_pathv[i]);
    ::globfree(&found);
    if (!is_found)
      throw UsageError(fmt::format("--allreduce: there is no file '{}'; name tables", pattern));
  }
  return files;
}

const char* place_name(sim::FitPlace place) {
  switch (place) {
    case sim::FitPlace::inside:
      return "inside";
    case sim::FitPlace::at_lower:
      return "at_lower";
    case sim::FitPlace::at_upper:
      return "at_upper";
    case sim::FitPlace::held:
      break;
  }
  return "held";
}

/// What a reader is to know of a constant that the fit did not choose freely.
std::string place_remark(sim::FitPlace place, const char* why_held) {
  switch (place) {
    case sim::FitPlace::inside:
      return "";
    case sim::FitPlace::at_lower:
      return "  at its lower bound";
    case sim::FitPlace::at_upper:
      return "  at its upper bound";
    case sim::FitPlace::held:
      break;
  }
  return fmt::format("  held: {}", why_held);
}

/// What tables of all-reduces and of steps made of a description.
struct Calibrated {
  sim::Cluster cluster;
  std::optional<sim::Calibration> collectives = {};
  std::optional<sim::IterationCalibration> steps = {};
  sim::IterationTable table = {};  ///< of steps
};

void add_constants(Json& constants, const std::vector<sim::FittedConstant>& fitted) {
  for (const sim::FittedConstant& one : fitted) {
    constants.push_back({{"path", one.path},
                         {"value", one.value},
                         {"lower", one.lower},
                         {"upper", one.upper},
                         {"place", place_name(one.place)}});
  }
}

Json calibration_json(const Calibrated& c) {
  Json constants = Json::array(), tables = Json::array();
  if (c.collectives) {
    add_constants(constants, c.collectives->constants);
    for (const sim::TableError& one : c.collectives->tables) {
      tables.push_back({{"file", one.name},
                        {"gpus", one.gpus},
                        {"mape", one.error.all * 100},
                        {"mape_powers_of_two", one.error.powers_of_two * 100},
                        {"null_mape", one.null_error.all * 100}});
    }
  }
  Json object{{"schema_version", 1}, {"cluster", c.cluster.name}, {"tables", tables}};
  if (c.steps) {
    add_constants(constants, c.steps->constants);
    object["iterations"] = iterations_json(c.table, c.steps->comparison);
  }
  object["constants"] = constants;
  return object;
}

void print_constants(const std::vector<sim::FittedConstant>& constants, const char* why_held) {
  console::print("{:<30} {:>22}   {}\n", "constant", "value", "bounds");
  for (const sim::FittedConstant& one : constants) {
    console::print("{:<30} {:>22}   {} to {}{}\n",
                   one.path,
                   one.value,
                   one.lower,
                   one.upper,
                   place_remark(one.place, why_held));
  }
  console::print("\n");
}

void print_collectives(const sim::Calibration& c) {
  print_constants(c.constants, "one number of GPUs does not tell it");
  console::print("{:>4} {:>8} {:>14} {:>11}   mean error of\n",
                 "GPUs",
                 "all rows",
                 "powers of two",
                 "null model");
  for (const sim::TableError& one : c.tables) {
    console::print("{:>4} {:>7.2f}% {:>13.2f}% {:>10.2f}%   {}\n",
                   one.gpus,
                   one.error.all * 100,
                   one.error.powers_of_two * 100,
                   one.null_error.all * 100,
                   console::shown(one.name));
  }
  for (const sim::TableError& one : c.tables) {
    if (one.is_chain)
      console::print(
          "\nThe NVLinks of GPUs 0 to {} make no ring, but a chain over one link. If a library "
          "takes another way, no constants meet {}; calibrate without it.\n",
          one.gpus - 1,
          console::shown(one.name));
  }
}

void print_calibration(const Calibrated& c) {
  if (c.collectives) print_collectives(*c.collectives);
  if (!c.steps) return;
  if (c.collectives) console::print("\n");
  print_constants(c.steps->constants, "the rows do not tell it");
  print_iterations(c.table, c.steps->comparison);
}

/// What `fit` returns. @throws UsageError  the tables do not fit the cluster.
template <class Fit>
auto checked(const Fit& fit) {
  try {
    return fit();
  } catch (const InvalidArgument& e) {
    throw UsageError(e.what());
  }
}

void fit_collectives(const std::vector<std::string>& files, Calibrated& c) {
  std::vector<sim::TimingTable> tables;
  for (const std::string& file : files)
    tables.push_back(sim::read_timing_table(file));
  c.collectives = checked([&] { return sim::calibrate_all_reduce(tables, c.cluster); });
  c.cluster = c.collectives->cluster;
}

void fit_steps(const std::string& file, Calibrated& c) {
  c.table = sim::read_iteration_table(file);
  const auto records = record_iterations(c.table, c.cluster);
  const sim::CalibrateIterationsOptions options{.fits_ring = !c.collectives};
  c.steps =
      checked([&] { return sim::calibrate_iterations(c.cluster, c.table, records, options); });
  c.cluster = c.steps->cluster;
}

void CalibrateRequest::check_choices() const {
  if (!host && !devices.list.empty())
    throw UsageError("--devices are what --host measures; give --host too, or leave them out");
  if (!host && !cluster.is_given())
    throw UsageError("there is no machine; give --cluster, or --host to measure this one");
  if (host && !cluster.name.empty())
    throw UsageError(
        "--host describes this machine anew, and --cluster names another; leave one of them out");
  if (host && !(tables.empty() && iterations.empty()))
    throw UsageError(
        "--host measures what it needs; fit tables afterwards, with --cluster and the description "
        "that --host made");
  if (!host && tables.empty() && iterations.empty())
    throw UsageError("there is nothing to fit to; give --allreduce, --iterations or both");
}

int CalibrateRequest::run_host() const {
  const std::vector<Device> list = devices.working_devices();
  for (const Device device : list)
    if (device.type != DeviceType::cpu)
      throw UsageError(fmt::format(
          "--host describes virtual devices of the host, and {} is none; give --devices cpu:N",
          to_string(device)));
  const sim::Cluster described = sim::describe_host(measure_host(list));
  write_text(output, sim::to_json(described));
  json.write([&] { return cluster_json(described); });
  if (json.leaves_text() && output != "-")
    console::print("{}: {}\n", described.name, described.about);
  return 0;
}

int CalibrateRequest::run() const {
  check_choices();
  if (output == "-" && !json.leaves_text())
    throw UsageError("--output and --json both write to stdout; give one of them a file");
  check_files({{"--output", output}, json.given_file()});
  if (host) return run_host();
  Calibrated result{.cluster = cluster.cluster()};
  if (!tables.empty()) fit_collectives(files_of(tables), result);
  if (!iterations.empty()) fit_steps(iterations, result);
  write_text(output, sim::to_json(result.cluster));
  json.write([&] { return calibration_json(result); });
  if (json.leaves_text() && output != "-") print_calibration(result);
  return 0;
}

}  // namespace

Command cluster_calibrate_command() {
  return make_command<CalibrateRequest>(
      {.name = "cluster calibrate",
       .summary = "fit a description to measured times, or describe this machine",
       .purpose = Purpose::machines});
}

}  // namespace tandem::cli
