// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/choices/json_choice.hpp"
#include "cli/command.hpp"
#include "cli/comparison.hpp"
#include "cli/console.hpp"

namespace tandem::cli {
namespace {

/// The same run in several modes, one after the other.
struct CompareRequest {
  ComparisonChoice compared;
  bool details = false;
  JsonChoice json;

  void add_flags(CLI::App& app) {
    compared.add_flags(app);
    app.add_flag(
        "--details",
        details,
        "also print memory by cause, time by phase and bytes by link, measured over a few more "
        "steps; --json always has them");
    json.add_flags(app);
  }
  int run() const;
};

std::string per_step(std::size_t nbytes, std::int64_t steps) {
  return nbytes == 0 ? "-" : format_nbytes(nbytes / static_cast<std::size_t>(steps));
}

void print_table(const Comparison& comparison) {
  const RunOptions& options = comparison.options;
  console::print("{} on {}, batches of {} rows, {} steps of {} in {}\n\n",
                 options.model.name,
                 options.data.name,
                 options.batch.full_batch(),
                 comparison.steps,
                 options.optimizer.name,
                 options.numbers.dtype);
  console::print("{:<12} {:>9} {:>9} {:>12}  {:<8} {:>5} {:>11} {:>11} {:>11}\n",
                 "mode",
                 "ms p50",
                 "p90",
                 "difference",
                 "device",
                 "rows",
                 "peak",
                 "sent/step",
                 "received");
  for (const ModeResult& r : comparison.modes) {
    for (std::size_t d = 0; d < r.devices.size(); ++d) {
      const TrialDevice& device = r.devices[d];
      const std::string left = d > 0 ? std::string(45, ' ')
                                     : fmt::format("{:<12} {:>9.2f} {:>9.2f} {:>12}",
                                                   r.mode,
                                                   r.p50,
                                                   r.p90,
                                                   &r == &comparison.modes.front()
                                                       ? "-"
                                                       : fmt::format("{:.1e}", r.difference.value));
      console::print("{}  {:<8} {:>5} {:>11} {:>11} {:>11}\n",
                     left,
                     to_string(device.device),
                     device.rows,
                     format_nbytes(device.peak_bytes),
                     per_step(device.bytes_sent, comparison.steps),
                     per_step(device.bytes_received, comparison.steps));
    }
  }
}

void print_sentences(const Comparison& comparison) {
  const std::vector<ModeResult>& results = comparison.modes;
  console::print("\n{}\n", describe_weights(comparison));
  const auto test = [&](const ModeResult& r) { return describe_test(r.test, comparison.measured); };
  const bool same = std::ranges::all_of(
      results, [&](const ModeResult& r) { return test(r) == test(results.front()); });
  if (same) console::print("{}, in all modes\n", test(results.front()));
  for (const ModeResult& r : results)
    if (!same) console::print("{}: {}\n", r.mode, test(r));
}

int CompareRequest::run() const {
  constexpr std::int64_t kWatched = 2;
  const bool watched = details || json.is_wanted();
  const Comparison comparison = compare(compared, watched ? kWatched : 0, {json.given_file()});
  json.write([&] { return to_json(comparison); });
  if (!json.leaves_text()) return 0;
  print_table(comparison);
  if (details) {
    for (const ModeResult& r : comparison.modes)
      print_details(r.mode, r.watched());
  }
  print_sentences(comparison);
  return 0;
}

}  // namespace

Command compare_command() {
  return make_command<CompareRequest>(
      "compare", "train in each mode from one seed, and compare time, memory, traffic and weights");
}

}  // namespace tandem::cli
