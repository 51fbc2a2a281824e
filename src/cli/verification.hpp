// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "tandem/nn/difference.hpp"

#include "cli/comparison.hpp"

namespace tandem::cli {

/// The weights of a run on several devices beside those of the same run on one.
struct Verification {
  std::string model, data, dtype;
  std::int64_t steps = 0;
  std::size_t devices = 0;
  nn::Difference difference;
  double tolerance = 0;

  bool is_equal() const { return difference.value <= tolerance; }
};

/// Trains in the run's one mode, and then on one device alone.
///
/// @param written  files that will be written.
/// @throws UsageError  the type rounds too much to tell.
Verification verify(const ComparisonChoice& choice, const std::vector<GivenFile>& written);

nlohmann::json to_json(const Verification& verification);
void print(const Verification& verification);

}  // namespace tandem::cli
