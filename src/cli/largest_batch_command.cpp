// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tandem/runtime/runtime.hpp"

#include "cli/commands.hpp"
#include "cli/console.hpp"
#include "cli/needs.hpp"
#include "cli/output.hpp"
#include "cli/output_files.hpp"
#include "cli/setup.hpp"
#include "cli/trial.hpp"

namespace tandem::cli {
namespace {

nlohmann::json to_json(const RunOptions& options,
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
          {"model", options.model},
          {"mode", options.mode},
          {"dtype", options.dtype},
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
                   options.model,
                   options.mode,
                   found.tries);
    return;
  }
  console::print("{} in mode {}: the largest batch has {} rows{}; {} tries\n\n",
                 options.model,
                 options.mode,
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

}  // namespace

int run_largest_batch(const RunOptions& given) {
  if (given.batch > 0) throw UsageError("--batch is what is looked for; leave it out");
  if (!given.chunk_sizes.empty())
    throw UsageError("--chunk-sizes are of one batch; give --chunks or --gpu0-bsz");
  RunOptions options = resolve(given);
  options.loss_in_replica = options.loss_in_replica.value_or(true);
  if (!*options.loss_in_replica)
    throw UsageError("the largest batch is found with --loss-in-replica alone");
  check_files({{"--text", options.text, FileUse::read}, {"--json", options.json}});
  const std::vector<Device> given_devices = working_devices(options);
  check_limits_fit(given_devices);
  const DataSets sets = load_data(options);
  Trial trial(options, sets, given_devices);
  const parallel::LargestBatch found = trial.find_largest_batch();
  const std::vector<Device>& devices = trial.task().devices();
  if (!options.json.empty()) write_json(options.json, to_json(options, devices, found));
  if (options.json != "-") print(options, devices, found);
  return found.rows > 0 ? 0 : 1;
}

}  // namespace tandem::cli
