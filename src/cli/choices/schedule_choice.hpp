// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tandem/optim/lr_scheduler.hpp"

namespace CLI {
class App;
}

namespace tandem::cli {

/// How the learning rate changes in a run.
struct ScheduleChoice {
  std::string name = "constant";
  std::int64_t warmup = 0;

  void add_flags(CLI::App& app);
  /// @param steps  of the whole run.
  /// @return null: the rate stays as it is.
  /// @throws UsageError  the warm-up takes all of the steps.
  std::unique_ptr<optim::LRScheduler> make(optim::Optimizer& optimizer, std::int64_t steps) const;
};

}  // namespace tandem::cli
