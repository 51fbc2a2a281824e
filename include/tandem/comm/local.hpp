// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
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
};

/// A group of devices of this process: rank r is the r-th of `devices`.
///
/// No thread of its own: ranks that come or wait claim slices of the work and do them. Host devices
/// only.
/// @return one rank for each device. A rank that is destroyed aborts the group.
/// @throws InvalidArgument  no device, one listed twice, or a time-out of zero or less.
std::vector<std::unique_ptr<Communicator>> make_local(std::span<const Device> devices,
                                                      LocalOptions options = {});

}  // namespace tandem::comm
