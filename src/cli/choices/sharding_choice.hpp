// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tandem/parallel/options.hpp"

#include "cli/choices/mode_choice.hpp"

namespace CLI {
class App;
}

namespace tandem::cli {

/// What modes that divide a model gather together, and where they keep its shares.
struct ShardingChoice {
  std::vector<std::string> units;  ///< names of modules; empty: the direct parts
  bool keeps_units = false;        ///< until backward has ended
  std::string offload;             ///< a device; empty: none
  int prefetch = 0;                ///< units that are gathered ahead

  void add_flags(CLI::App& app);
  bool offloads() const { return !offload.empty(); }
  /// What is for a mode. Modes that the flags are not for leave them. @throws UsageError  likewise.
  parallel::Sharding in(parallel::Mode mode) const;
  /// Sets what is for the options' mode.
  ///
  /// @throws UsageError  no such device.
  void apply(parallel::DataParallelOptions& options) const;
  /// @throws UsageError  a flag has no meaning in this mode.
  void check(const ModeChoice& mode) const;
};

}  // namespace tandem::cli
