// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>

#include "cli/choices/json_choice.hpp"
#include "cli/command.hpp"
#include "cli/comparison.hpp"
#include "cli/console.hpp"
#include "cli/launched.hpp"

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

int CompareRequest::run() const {
  constexpr std::int64_t kWatched = 2;
  const bool watched = details || json.is_wanted();
  Launched launched;
  ComparisonChoice own = compared;
  own.run = compared.run.of_process(launched);
  const report::Comparison comparison = compare(own, watched ? kWatched : 0, {json.given_file()});
  if (!launched.is_main()) return 0;
  json.write([&] { return to_json(comparison); });
  if (json.leaves_text()) console::print("{}", report::text(comparison, details));
  return 0;
}

}  // namespace

Command compare_command() {
  return make_command<CompareRequest>(
      "compare", "train in each mode from one seed, and compare time, memory, traffic and weights");
}

}  // namespace tandem::cli
