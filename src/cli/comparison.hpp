// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/prepared_run.hpp"
#include "report/comparison.hpp"

namespace tandem::cli {

/// The same run in several modes.
struct ComparisonChoice {
  ComparisonChoice() { run.optimizer.name = "sgd"; }

  RunOptions run;
  std::vector<std::string> modes = mode_names();  ///< the others are compared with the first
  std::int64_t steps = 20;

  void add_flags(CLI::App& app);
};

/// Trains in each mode from one seed on, one mode after the other.
///
/// @param watched_steps  steps that are taken after the others, for the details; 0: none.
/// @param written        files that will be written.
report::Comparison compare(const ComparisonChoice& choice,
                           std::int64_t watched_steps,
                           const std::vector<GivenFile>& written);

}  // namespace tandem::cli
