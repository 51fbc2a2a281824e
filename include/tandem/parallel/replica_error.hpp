// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
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

/// One device's part of a call.
struct Replica {
  int index = 0;  ///< of the device
  Device device = {};
  RowRange rows = {};  ///< of the whole batch
  /// Where the call notes what the replica is at, for its errors; null: nowhere.
  std::atomic<Phase>* phase = nullptr;
};

/// Throws the first error as ReplicaError, with the others attached. One that only tells of another
/// replica's failure (CommAborted) comes last, and is not attached.
///
/// @param errors  by replica; null where it ended well, but not all. @param phases  by replica.
[[noreturn]] void throw_replica_error(std::vector<std::exception_ptr> errors,
                                      const std::vector<Replica>& replicas,
                                      const std::vector<Phase>& phases);

}  // namespace tandem::parallel
