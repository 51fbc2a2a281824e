// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/comparison.hpp"
#include "cli/console.hpp"
#include "cli/output_files.hpp"

namespace tandem::cli {
namespace {

std::string per_step(std::size_t nbytes, std::int64_t steps) {
  return nbytes == 0 ? "-" : format_nbytes(nbytes / static_cast<std::size_t>(steps));
}

void print_table(const Comparison& comparison) {
  const RunOptions& options = comparison.options;
  console::print("{} on {}, batches of {} rows, {} steps of {} in {}\n\n",
                 options.model,
                 options.data,
                 options.batch,
                 *options.steps,
                 options.optimizer,
                 options.dtype);
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
                     per_step(device.bytes_sent, *options.steps),
                     per_step(device.bytes_received, *options.steps));
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

}  // namespace

int run_compare(const CompareRequest& request) {
  constexpr std::int64_t kWatched = 2;
  const std::string& json = request.run.json;
  check_files({{"--text", request.run.text, FileUse::read}, {"--json", json}});
  const bool watched = request.details || !json.empty();
  const Comparison comparison = compare(request, watched ? kWatched : 0);
  if (!json.empty()) write_json(json, to_json(comparison));
  if (json == "-") return 0;
  print_table(comparison);
  if (request.details) {
    for (const ModeResult& r : comparison.modes)
      print_details(r.mode, r.watched());
  }
  print_sentences(comparison);
  return 0;
}

}  // namespace tandem::cli
