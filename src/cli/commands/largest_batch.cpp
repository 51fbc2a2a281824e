// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tandem/runtime/runtime.hpp"

#include "cli/choices/json_choice.hpp"
#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/needs.hpp"
#include "cli/trial.hpp"
#include "cli/usage_error.hpp"

namespace tandem::cli {
namespace {

/// The search for the batch that fits while one more row does not. Exits with 1 if no row fits.
struct LargestBatchRequest {
  RunOptions run_options;
  JsonChoice json;

  void add_flags(CLI::App& app) {
    run_options.add_flags(app);
    run_options.devices.add_shape_only(app);
    run_options.devices.add_cluster(app, sim::ClusterData::none);
    json.add_flags(app);
  }
  int run() const;
};

nlohmann::json to_json(const RunOptions& options,
                       const Machine& machine,
                       const std::vector<Device>& devices,
                       const parallel::LargestBatch& found) {
  auto rows = nlohmann::json::array();
  for (std::size_t d = 0; found.rows > 0 && d < devices.size(); ++d) {
    const std::size_t limit = logical_device(devices[d]).limit();
    rows.push_back({{"name", to_string(devices[d])},
                    {"rows", found.step.rows[d]},
                    {"peak_bytes", found.step.peak_bytes[d]},
                    {"limit_bytes", limit == SIZE_MAX ? nlohmann::json() : nlohmann::json(limit)}});
  }
  return {{"schema_version", 1},
          {"model", options.model.name},
          {"mode", options.mode.name},
          {"dtype", options.numbers.dtype},
          {"cluster", machine.to_json()},
          {"largest_batch", found.rows},
          {"is_largest", found.is_largest},
          {"tries", found.tries},
          {"devices", rows}};
}

void print(const RunOptions& options,
           const std::vector<Device>& devices,
           const parallel::LargestBatch& found) {
  if (found.rows == 0) {
    console::print("{} in mode {}: not even one row fits; {} tries\n",
                   options.model.name,
                   options.mode.name,
                   found.tries);
    return;
  }
  console::print("{} in mode {}: the largest batch has {} rows{}; {} tries\n\n",
                 options.model.name,
                 options.mode.name,
                 found.rows,
                 found.is_largest ? fmt::format(", {} do not fit", found.rows + 1) : " or more",
                 found.tries);
  console::print("{:<8} {:>8} {:>12} {:>12}\n", "device", "rows", "peak", "limit");
  for (std::size_t d = 0; d < devices.size(); ++d) {
    const std::size_t limit = logical_device(devices[d]).limit();
    console::print("{:<8} {:>8} {:>12} {:>12}\n",
                   to_string(devices[d]),
                   found.step.rows[d],
                   format_nbytes(found.step.peak_bytes[d]),
                   limit == SIZE_MAX ? "none" : format_nbytes(limit));
  }
}

/// @throws Error  the devices' limits, up to which the search goes, are more than the machine
/// holds. Shape-only devices hold nothing.
void check_limits_fit(const std::vector<Device>& devices) {
  if (!logical_device(devices.front()).has_data()) return;
  double all = 0;
  for (const Device d : devices) {
    const std::size_t limit = logical_device(d).limit();
    if (d.type == DeviceType::cpu && limit != SIZE_MAX) all += static_cast<double>(limit);
  }
  check_fits("a search up to the limits of --devices", all);
}

/// @throws UsageError  options that a search does not have.
RunOptions options_of_search(RunOptions options) {
  if (options.batch.rows > 0)
    throw UsageError("largest-batch finds the batch by itself; leave out --batch");
  if (!options.batch.chunk_sizes.empty())
    throw UsageError("--chunk-sizes are for one batch only; give --chunks or --gpu0-bsz instead");
  options.resolve();
  return options;
}

int LargestBatchRequest::run() const {
  const RunOptions options = options_of_search(run_options);
  check_files({{"--text", options.data.text, FileUse::read}, json.given_file()});
  const Machine machine = options.devices.machine();
  check_limits_fit(machine.devices());
  const DataSets sets = options.load_data();
  Trial trial(options, sets, machine);
  const parallel::LargestBatch found = trial.find_largest_batch();
  const std::vector<Device>& devices = trial.task().devices();
  json.write([&] { return to_json(options, machine, devices, found); });
  if (json.leaves_text()) print(options, devices, found);
  return found.rows > 0 ? 0 : 1;
}

}  // namespace

Command largest_batch_command() {
  return make_command<LargestBatchRequest>(
      {.name = "largest-batch",
       .summary = "find the largest batch whose step fits the devices' limits",
       .purpose = Purpose::train,
       .first_flags = {"--model",
                       "--data",
                       "--devices",
                       "--mode",
                       "--optimizer",
                       "--dtype",
                       "--cluster",
                       "--gpus",
                       "--shape-only",
                       "--json"}});
}

}  // namespace tandem::cli
