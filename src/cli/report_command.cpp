// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/commands.hpp"
#include "cli/comparison.hpp"
#include "cli/console.hpp"
#include "cli/output.hpp"
#include "cli/output_files.hpp"
#include "cli/report/page.hpp"

namespace tandem::cli {

int run_report(const ReportRequest& request) {
  const std::string& json = request.compared.run.json;
  check_files({{"--text", request.compared.run.text, FileUse::read},
               {"--output", request.output},
               {"--json", json}});
  const Comparison comparison = compare(request.compared, 1);
  const std::string page = report::page(comparison);
  write_text(request.output, page);
  if (!json.empty()) write_json(json, to_json(comparison));
  const bool quiet = request.compared.run.quiet || request.output == "-" || json == "-";
  if (!quiet)
    console::print("{}: {} modes, {}; open it in a browser\n",
                   request.output,
                   comparison.modes.size(),
                   format_nbytes(page.size()));
  return 0;
}

}  // namespace tandem::cli
