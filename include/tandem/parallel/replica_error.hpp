// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>
#include <vector>

#include "tandem/core/error.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/device.hpp"

namespace tandem::parallel {

/// A replica failed. What it threw is nested (find_cause); failures of other replicas are attached.
struct ReplicaError : Error, std::nested_exception {
  /// @param others  what further replicas threw, "cpu:2: ..." each. Nests the exception being
  /// handled.
  ReplicaError(Device device,
               int replica,
               RowRange rows,
               Phase phase,
               const std::string& cause,
               std::vector<std::string> others);

  Device device;
  int replica;
  RowRange rows;
  Phase phase;
  std::vector<std::string> others;
};

}  // namespace tandem::parallel
