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

/// A replica failed. Its exception is nested (find_cause); failures of other replicas are attached.
struct ReplicaError : Error, std::nested_exception {
  /// Nests the exception being handled.
  /// @param others  what other replicas threw, "cpu:2: ..." each.
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
  int index = 0;  ///< the index of the device
  Device device = {};
  RowRange rows = {};  ///< of the whole batch
  /// Where the call notes the replica's current phase, for its errors; null: nowhere.
  std::atomic<Phase>* phase = nullptr;
  /// In a backward: the weight of the mean over this process's rows in that over all processes'.
  double weight = 1;
};

/// Throws the first error as ReplicaError, with the others attached. An error that only reports
/// another replica's failure (CommAborted) is chosen only if there is no other, and is never
/// attached.
///
/// @param errors  by replica; null for replicas that succeeded. At least one is not null.
/// @param phases  by replica.
[[noreturn]] void throw_replica_error(std::vector<std::exception_ptr> errors,
                                      const std::vector<Replica>& replicas,
                                      const std::vector<Phase>& phases);

}  // namespace tandem::parallel
