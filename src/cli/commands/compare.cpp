// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/choices/json_choice.hpp"
#include "cli/command.hpp"
#include "cli/comparison.hpp"
#include "cli/console.hpp"
#include "cli/launched.hpp"
#include "cli/subject.hpp"
#include "cli/usage_error.hpp"
#include "cli/validators.hpp"
#include "cli/verification.hpp"
#include "report/page.hpp"

namespace tandem::cli {
namespace {

/// The same run in several modes, one after the other; or in one, whose weights are compared with
/// those of one device. The latter exits with 1 if they differ.
struct CompareRequest {
  ComparisonChoice compared;
  bool is_verified = false;
  bool details = false;
  std::string page;  ///< a file; empty: none
  JsonChoice json;

  void add_flags(CLI::App& app);
  int run() const;

 private:
  void resolve(const CLI::App& app);
  int compare_modes(const ComparisonChoice& own, bool is_main) const;
};

void CompareRequest::add_flags(CLI::App& app) {
  compared.add_flags(app);
  begin_subject(app, Subject::mode);
  auto* verify = app.add_flag("--verify",
                              is_verified,
                              "train in --mode and on one device alone, by default with adamw, and "
                              "compare the weights: exits with 1 if they differ by more than "
                              "rounding");
  begin_subject(app, Subject::output);
  app.add_flag(
      "--details",
      details,
      "also print memory by cause, time by phase and bytes by link, measured over a few more "
      "steps; --json always has them");
  app.add_option("--html",
                 page,
                 "also write pictures and numbers of the comparison to this file, a page for a "
                 "browser; - for stdout, in place of the text")
      ->option_text("FILE")
      ->transform(dash_for_stdout());
  json.add_flags(app);
  app.get_option("--gather-outputs")->needs(verify);
  for (const char* other : {"--modes", "--shape-only", "--details", "--html"})
    verify->excludes(app.get_option(other));
  app.parse_complete_callback([this, &app] { resolve(app); });
}

void CompareRequest::resolve(const CLI::App& app) {
  if (!is_verified && app.count("--mode") > 0)
    throw UsageError(
        "--mode is the one that --verify compares with one device; give --verify too, or --modes "
        "with the modes to compare");
  if (is_verified && app.count("--optimizer") == 0) compared.run.optimizer.name = "adamw";
}

int CompareRequest::compare_modes(const ComparisonChoice& own, bool is_main) const {
  const bool has_page = !page.empty();
  const std::int64_t watched = has_page ? 1 : 2;  // a page draws one step
  const report::Comparison comparison =
      compare(own,
              has_page || details || json.is_wanted() ? watched : 0,
              {{"--html", page}, json.given_file()});
  if (!is_main) return 0;
  const std::string html = has_page ? report::page(comparison) : "";
  if (has_page) write_text(page, html);
  json.write([&] { return to_json(comparison); });
  if (page == "-" || !json.leaves_text()) return 0;
  console::print("{}", report::text(comparison, details));
  if (has_page)
    console::print("\n{}: {} modes, {}; open it in a browser\n",
                   page,
                   comparison.modes.size(),
                   format_nbytes(html.size()));
  return 0;
}

int CompareRequest::run() const {
  Launched launched;
  ComparisonChoice own = compared;
  own.run = compared.run.of_process(launched);
  if (!is_verified) return compare_modes(own, launched.is_main());
  const Verification result = verify(own, {json.given_file()});
  if (launched.is_main()) {
    json.write([&] { return to_json(result); });
    if (json.leaves_text()) print(result);
  }
  return result.is_equal() ? 0 : 1;
}

}  // namespace

Command compare_command() {
  return make_command<CompareRequest>(
      {.name = "compare",
       .summary = "compare the modes: time, memory, traffic, weights; verify one",
       .purpose = Purpose::start,
       .first_flags = {"--model",
                       "--data",
                       "--devices",
                       "--modes",
                       "--batch",
                       "--steps",
                       "--cluster",
                       "--verify",
                       "--html",
                       "--json"}});
}

}  // namespace tandem::cli
