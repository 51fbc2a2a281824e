// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tandem/nn/difference.hpp"
#include "tandem/train/loop.hpp"

#include "cli/details.hpp"
#include "cli/output.hpp"
#include "cli/prepared_run.hpp"
#include "cli/trial.hpp"

namespace tandem::cli {

/// The same run in several modes.
struct ComparisonChoice {
  ComparisonChoice() { run.optimizer.name = "sgd"; }

  RunOptions run;
  std::vector<std::string> modes = mode_names();  ///< the others are compared with the first
  std::int64_t steps = 20;

  void add_flags(CLI::App& app);
};

/// How a mode did.
struct ModeResult {
  std::string mode;
  double p50 = 0, p90 = 0;     ///< ms of a step
  std::vector<double> losses;  ///< of the steps, from the first on
  nn::NamedValues weights;
  nn::Difference difference;  ///< from the first mode's weights
  training::EpochInfo test;   ///< of the test set alone
  std::vector<TrialDevice> devices;
  std::optional<Details> details = std::nullopt;  ///< where they are asked for

  const Details& watched() const { return details.value(); }
  /// Whether everything was recorded.
  bool is_complete() const { return watched().record.complete && watched().memory.complete; }
};

/// How all modes did.
struct Comparison {
  RunOptions options;  ///< resolved
  std::int64_t steps = 0;
  Measured measured = Measured::images;
  std::vector<ModeResult> modes;
};

/// Trains in each mode from one seed on, one mode after the other.
///
/// @param watched_steps  steps that are taken after the others, for the details; 0: none.
/// @param written        files that will be written.
Comparison compare(const ComparisonChoice& choice,
                   std::int64_t watched_steps,
                   const std::vector<GivenFile>& written);

/// How far the weights of the modes are from one another, and whether that is rounding.
std::string describe_weights(const Comparison& comparison);

/// @param comparison  with details.
nlohmann::json to_json(const Comparison& comparison);

}  // namespace tandem::cli
