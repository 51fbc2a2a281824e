// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tandem/parallel/mode_formulas.hpp"
#include "tandem/profile/memory_profile.hpp"

#include "cli/run_options.hpp"
#include "cli/trial.hpp"

namespace tandem::cli {

/// What each device holds and sends by the mode's formulas, beside what was counted.
///
/// What a step needs besides is left out where the formulas are not meant for it: a device has no
/// rows, several processes train together, products are in 16 bits, whose copies of the weights
/// backward uses, or the bits are the same on any devices.
class FormulaTable {
 public:
  /// Takes one more step of the trial, whose transfers are counted.
  ///
  /// @param memory  of steps of the trial.
  FormulaTable(const RunOptions& options, Trial& trial, const profile::MemoryProfile& memory);

  std::string text() const;
  /// What the letters stand for.
  const std::string& legend() const noexcept { return legend_; }
  /// A device's figures.
  nlohmann::json to_json(std::size_t device) const;

 private:
  struct Row {
    parallel::ModeFormulas::Figure figure{};
    std::string formula;
    std::size_t by_formula = 0, counted = 0;

    friend bool operator==(const Row&, const Row&) = default;
  };

  std::vector<Device> devices_;
  std::string legend_;
  std::vector<std::vector<Row>> rows_;  // by device
};

}  // namespace tandem::cli
