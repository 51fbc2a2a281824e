// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>

#include "cli/choices/json_choice.hpp"
#include "cli/command.hpp"
#include "cli/comparison.hpp"
#include "cli/console.hpp"
#include "cli/validators.hpp"
#include "report/page.hpp"

namespace tandem::cli {
namespace {

/// A comparison as a page of pictures and numbers.
struct ReportRequest {
  ComparisonChoice compared;
  std::string output = "report.html";
  JsonChoice json;

  void add_flags(CLI::App& app) {
    compared.add_flags(app);
    app.add_option("--output", output, "file to write the page to; - for stdout")
        ->transform(dash_for_stdout())
        ->capture_default_str();
    json.add_flags(app);
  }
  int run() const;
};

int ReportRequest::run() const {
  const report::Comparison comparison =
      compare(compared, 1, {{"--output", output}, json.given_file()});
  const std::string page = report::page(comparison);
  write_text(output, page);
  json.write([&] { return to_json(comparison); });
  if (compared.run.quiet || output == "-" || !json.leaves_text()) return 0;
  console::print("{}: {} modes, {}; open it in a browser\n",
                 output,
                 comparison.modes.size(),
                 format_nbytes(page.size()));
  return 0;
}

}  // namespace

Command report_command() {
  return make_command<ReportRequest>(
      "report", "compare the modes, and write pictures and numbers of them to one HTML file");
}

}  // namespace tandem::cli
