// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>
#include <vector>

#include "tandem/core/error.hpp"
#include "tandem/runtime/device.hpp"

namespace tandem::parallel {

/// A rank's program failed. Its exception is nested (find_cause); failures of others are attached.
struct RankError : Error, std::nested_exception {
  /// Nests the exception being handled. @param others  "rank 2 on cpu:2: ..." each.
  RankError(int rank, Device device, const std::string& cause, std::vector<std::string> others);

  int rank;
  Device device;
  std::vector<std::string> others;
};

}  // namespace tandem::parallel
