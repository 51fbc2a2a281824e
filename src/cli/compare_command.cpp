// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tandem/core/percentile.hpp"
#include "tandem/train/loop.hpp"

#include "cli/commands.hpp"
#include "cli/details.hpp"
#include "cli/report.hpp"
#include "cli/setup.hpp"
#include "cli/trial.hpp"

namespace tandem::cli {
namespace {

/// How a mode did.
struct Result {
  std::string mode;
  double p50 = 0, p90 = 0;  // ms of a step
  nn::NamedValues weights;
  nn::Difference difference;  // from the first mode's weights
  train::EpochInfo test;      // of the test set alone
  std::vector<TrialDevice> devices;
  std::optional<Details> details = std::nullopt;  // where they are asked for
};

Result run_mode(const RunOptions& options,
                const DataSets& sets,
                const std::vector<Device>& devices,
                bool watched) {
  Trial trial(options, sets, devices);
  trial.run(*options.steps, [&](std::int64_t step, double loss) {
    if (options.quiet || step < *options.steps) return;
    fmt::print(stderr, "{}: loss {:.6g} after {} steps\n", options.mode, loss, step);
  });
  data::DataLoader test(sets.test,
                        loader_options(options, *sets.test, data::Split::test, devices.front()));
  const train::Measure measured = train::measure(trial.task(), test);
  Result result{.mode = options.mode,
                .p50 = percentile(trial.step_ms(), 0.5),
                .p90 = percentile(trial.step_ms(), 0.9),
                .weights = trial.weights(),
                .difference = {},
                .test = {.test_loss = measured.loss, .test_accuracy = measured.accuracy},
                .devices = trial.devices()};
  if (watched) result.details = watch(trial);  // which trains on
  return result;
}

RunOptions in_mode(const RunOptions& options, const std::string& mode) {
  if (mode == "single") return on_one_device(options);
  RunOptions own = options;
  own.mode = mode;
  // What a step does, and not a forward alone, has no gathered outputs.
  if (!option_of_step(own).empty() && !own.loss_in_replica) own.loss_in_replica = true;
  return own;
}

/// @param results  with their details.
nlohmann::json to_json(const RunOptions& options, const std::vector<Result>& results) {
  auto modes = nlohmann::json::array();
  for (const Result& r : results) {
    auto devices = nlohmann::json::array();
    for (std::size_t i = 0; i < r.devices.size(); ++i) {
      const TrialDevice& d = r.devices[i];
      devices.push_back({{"name", to_string(d.device)},
                         {"rows", d.rows},
                         {"peak_bytes", d.peak_bytes},
                         {"peak_by_category", peak_by_category(*r.details, i)},
                         {"ms_by_phase", ms_by_phase(*r.details, d.device)},
                         {"bytes_sent", d.bytes_sent},
                         {"bytes_received", d.bytes_received}});
    }
    modes.push_back({{"mode", r.mode},
                     {"step_ms", {{"p50", r.p50}, {"p90", r.p90}}},
                     {"max_relative_difference", finite(r.difference.value)},
                     {"worst_tensor", r.difference.tensor},
                     {"test_accuracy", r.test.test_accuracy},
                     {"test_loss", finite(r.test.test_loss)},
                     {"overlap", r.details->time.overlap.share()},
                     {"imbalance", r.details->memory.imbalance()},
                     {"links", links(*r.details)},
                     {"devices", devices}});
  }
  return {{"schema_version", 1},
          {"model", options.model},
          {"data", options.data},
          {"optimizer", options.optimizer},
          {"dtype", options.dtype},
          {"batch", options.batch},
          {"steps", *options.steps},
          {"seed", seed_of(options)},
          {"modes", modes}};
}

std::string per_step(std::size_t nbytes, std::int64_t steps) {
  return nbytes == 0 ? "-" : format_nbytes(nbytes / static_cast<std::size_t>(steps));
}

void print_table(const RunOptions& options, const std::vector<Result>& results) {
  fmt::print("{} on {}, batches of {} rows, {} steps of {} in {}\n\n",
             options.model,
             options.data,
             options.batch,
             *options.steps,
             options.optimizer,
             options.dtype);
  fmt::print("{:<12} {:>9} {:>9} {:>12}  {:<8} {:>5} {:>11} {:>11} {:>11}\n",
             "mode",
             "ms p50",
             "p90",
             "difference",
             "device",
             "rows",
             "peak",
             "sent/step",
             "received");
  for (const Result& r : results) {
    for (std::size_t d = 0; d < r.devices.size(); ++d) {
      const TrialDevice& device = r.devices[d];
      const std::string left =
          d > 0 ? std::string(45, ' ')
                : fmt::format(
                      "{:<12} {:>9.2f} {:>9.2f} {:>12}",
                      r.mode,
                      r.p50,
                      r.p90,
                      &r == &results.front() ? "-" : fmt::format("{:.1e}", r.difference.value));
      fmt::print("{}  {:<8} {:>5} {:>11} {:>11} {:>11}\n",
                 left,
                 to_string(device.device),
                 device.rows,
                 format_nbytes(device.peak_bytes),
                 per_step(device.bytes_sent, *options.steps),
                 per_step(device.bytes_received, *options.steps));
    }
  }
}

void print_sentences(const RunOptions& options,
                     const DataSets& sets,
                     const std::vector<Result>& results) {
  const Measured measured = sets.is_text() ? Measured::text : Measured::images;
  double worst = 0;
  for (const Result& r : results)
    worst = std::max(worst, r.difference.value);
  const double tolerance = tolerance_of(options);
  fmt::print("\nweights: at most {:.1e} from {}'s", worst, results.front().mode);
  if (tolerance > 0) {
    fmt::print(", {:.0e} is allowed in {}: {}",
               tolerance,
               options.dtype,
               worst <= tolerance ? "equal" : "NOT EQUAL");
    if (worst > tolerance && options.dtype == "f32")
      fmt::print(
          " (rounding can flip a ReLU or a maximum, and that grows; --dtype f64 tells it from an "
          "error)");
  }
  fmt::print("\n");
  const auto test = [&](const Result& r) { return describe_test(r.test, measured); };
  const bool same = std::ranges::all_of(
      results, [&](const Result& r) { return test(r) == test(results.front()); });
  if (same) fmt::print("{}, in all modes\n", test(results.front()));
  for (const Result& r : results)
    if (!same) fmt::print("{}: {}\n", r.mode, test(r));
}

}  // namespace

int run_compare(const CompareRequest& request) {
  RunOptions options = resolve(request.run);
  options.steps = options.steps.value_or(20);
  const std::vector<Device> devices = devices_of(options);
  const DataSets sets = load_data(options);
  std::vector<Result> results;
  for (const std::string& mode : request.modes) {
    const bool watched = request.details || !options.json.empty();
    results.push_back(run_mode(in_mode(options, mode), sets, devices, watched));
    results.back().difference = nn::difference(results.back().weights, results.front().weights);
  }
  if (!options.json.empty()) write_json(options.json, to_json(options, results));
  if (options.json == "-") return 0;
  print_table(options, results);
  if (request.details) {
    for (const Result& r : results)
      print_details(r.mode, *r.details);
  }
  print_sentences(options, sets, results);
  return 0;
}

}  // namespace tandem::cli
