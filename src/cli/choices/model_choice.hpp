// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace CLI {
class App;
}

namespace tandem::cli {

/// Sizes of the model of a text.
struct GptSizes {
  std::int64_t layers = 4;
  std::int64_t width = 128;
  std::int64_t heads = 4;
  std::int64_t context = 128;
  double dropout = 0.1;
};

/// Which model a command uses.
struct ModelChoice {
  std::string name;  ///< empty: by the data
  GptSizes gpt;
  std::string gpt_option;  ///< the last option of `gpt` that was given; empty: none was
  bool recompute = false;

  void add_flags(CLI::App& app);
  /// @throws UsageError  an option was given that the model, which has a name, does not have.
  void check() const;
};

}  // namespace tandem::cli
