// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tandem/sim/simulate.hpp"

namespace CLI {
class App;
}

namespace tandem::cli {

/// How long collectives take on a machine that is simulated.
struct CollectivesChoice {
  std::string name = "library";

  void add_flags(CLI::App& app);
  bool is_as_run() const noexcept { return name == "as-run"; }
  /// @throws UsageError  as-run, for devices of a host, which have no links.
  void check(const sim::Cluster& cluster) const;
  sim::CollectiveTimes times() const noexcept {
    return is_as_run() ? sim::CollectiveTimes::as_run : sim::CollectiveTimes::library;
  }
};

}  // namespace tandem::cli
