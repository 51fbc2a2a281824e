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
  std::string path;  ///< empty: none
  /// Not set: the path is one file's. Otherwise it is a folder's, with so many files of each kind.
  std::optional<std::int64_t> shards;
  std::optional<std::int64_t> save_every;
  bool resume = false;

  void add_flags(CLI::App& app);
  /// Whether files of metrics are appended to: they are if the run goes on.
  training::Append append() const { return resume ? training::Append::yes : training::Append::no; }
  /// @throws FileError  the path is a folder's, but one file is to be saved.
  GivenFile given_file() const;
  /// "--checkpoint run --checkpoint-shards 4".
  std::string options() const;
};

}  // namespace tandem::cli
