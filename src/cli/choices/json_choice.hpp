// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "cli/output_files.hpp"

namespace CLI {
class App;
}

namespace tandem::cli {

/// Results as one JSON object with a "schema_version". It goes to stdout in place of the text, or
/// to a file beside it.
struct JsonChoice {
  std::string file;  ///< "-": stdout; empty: no JSON

  void add_flags(CLI::App& app);
  bool is_wanted() const { return !file.empty(); }
  /// Whether the text goes to stdout, since the object does not.
  bool leaves_text() const { return file != "-"; }
  GivenFile given_file() const { return {"--json", file}; }
  /// Writes what `make` returns, if an object is wanted. @throws FileError
  template <class Make>
  void write(const Make& make) const {
    if (is_wanted()) write_json(file, make());
  }
};

}  // namespace tandem::cli
