// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace tandem::cli {

/// Where the numbers of a run are written as they come.
struct MetricsChoice {
  std::string file;         ///< .csv or .jsonl; empty: none
  std::string tensorboard;  ///< a directory; empty: none

  void add_flags(CLI::App& app);
};

}  // namespace tandem::cli
