// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tandem/train/metrics.hpp"

#include "cli/output_files.hpp"

namespace CLI {
class App;
}

namespace tandem::cli {

/// Where a run is saved, and whether it goes on from there.
struct CheckpointChoice {
  std::string file;  ///< empty: none
  std::optional<std::int64_t> save_every;
  bool resume = false;

  void add_flags(CLI::App& app);
  /// Whether files of metrics are appended to: they are if the run goes on.
  training::Append append() const { return resume ? training::Append::yes : training::Append::no; }
  GivenFile given_file() const { return {"--checkpoint", file, FileUse::kept}; }
};

}  // namespace tandem::cli
