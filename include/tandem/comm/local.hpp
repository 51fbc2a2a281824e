// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tandem/comm/communicator.hpp"

namespace tandem::comm {

struct LocalOptions {
  /// Most time that a rank waits for the others to come to a collective.
  std::chrono::milliseconds timeout = std::chrono::seconds(300);
  /// Where the flight record is written when the group first fails: a file of its own each time.
  /// "": the environment variable TANDEM_COMM_DUMP, or nowhere.
  std::string dump_folder = {};
  /// Of algorithms.hpp, by its name: how the collectives that it has are carried out; the others
  /// are direct, and so are groups split from this one. A collective may name another.
  std::string algorithm = "direct";
  std::int64_t segment_bytes = 128 * 1024;  ///< of algorithms with segments
  int group = 0;  ///< ranks of a group, or of a row of a torus; 0: see Problem
};

/// A group of devices of this process: rank r is the r-th of `devices`.
///
/// No thread of its own: ranks that come or wait claim slices of the work and do them. Host devices
/// only.
/// @return one rank for each device. A rank that is destroyed aborts the group.
/// @throws InvalidArgument  no device, one listed twice, a time-out of zero or less, or an
/// algorithm
///                          that there is none of, or that refuses this number of ranks.
std::vector<std::unique_ptr<Communicator>> make_local(std::span<const Device> devices,
                                                      LocalOptions options = {});

}  // namespace tandem::comm
