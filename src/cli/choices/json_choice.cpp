// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/choices/json_choice.hpp"

#include <CLI/CLI.hpp>

#include "cli/subject.hpp"
#include "cli/validators.hpp"

namespace tandem::cli {

void JsonChoice::add_flags(CLI::App& app) {
  begin_subject(app, Subject::output);
  app.add_option(
         "--json",
         file,
         "write the results as one JSON object: to stdout instead of the text, or to FILE in "
         "addition to the text (- is stdout)")
      ->expected(0, 1)
      ->default_str("-")  // without a FILE
      ->option_text("[FILE]")
      ->transform(dash_for_stdout());
}

}  // namespace tandem::cli
