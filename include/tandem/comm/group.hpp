// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tandem/comm/backend.hpp"
#include "tandem/comm/communicator.hpp"

namespace tandem::comm {

struct GroupOptions {
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
  Backend backend = Backend::local;
};

/// A group of devices of this process: rank r is the r-th of `devices`.
///
/// No thread of its own: ranks that come or wait claim slices of the work and do them.
/// @return one rank for each device. A rank that is destroyed aborts the group.
/// @throws InvalidArgument  no device, one listed twice, a time-out of zero or less, or an
///                          algorithm that there is none of, or that refuses this number of ranks;
///                          for nccl a device that is no GPU, or two on one GPU (NCCL 2.30 has
///                          several ranks there where NCCL_MULTI_RANK_GPU_ENABLE is 1), or a build
///                          without NCCL (has_nccl).
/// @throws DeviceError, Timeout  NCCL did not come up.
/// @cost  nccl: NCCL's start, a few tenths of a second, and its buffers on each GPU.
std::vector<std::unique_ptr<Communicator>> make_group(std::span<const Device> devices,
                                                      GroupOptions options = {});

}  // namespace tandem::comm
