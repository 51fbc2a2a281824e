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

namespace tandem::world {
class World;
}

namespace tandem::comm {

struct GroupOptions {
  /// How long a rank waits for others to arrive at a collective while none of the group's devices
  /// begins another piece of work. For nccl also the longest that its calls may take.
  std::chrono::milliseconds timeout = std::chrono::seconds(300);
  /// The folder in which the flight record is written when the group first fails, in a new file
  /// each time; read_flight (flight.hpp) merges those of all processes. "": the folder in the
  /// environment variable TANDEM_COMM_DUMP; if unset, no file.
  std::string dump_folder = {};
  /// Whether the record is also written when the group ends without a failure; true if the
  /// environment has TANDEM_COMM_DUMP_AT_END.
  bool dump_at_end = false;
  /// The name of the algorithm (algorithms.hpp) for the collectives that it has. The others are
  /// direct, and so are the collectives of groups split from this one. A collective may name
  /// another algorithm.
  std::string algorithm = "direct";
  std::int64_t segment_bytes = 128 * 1024;  ///< for algorithms with segments
  int group = 0;  ///< ranks in a group, or in a row of a torus; 0: see Problem
  Backend backend = Backend::local;
  /// The group's ranks are the devices of all of this world's processes, which make the same groups
  /// in the same order: first those of process 0, and so on. It outlives the group. Null: this
  /// process's devices alone.
  world::World* world = nullptr;
};

/// Makes a group of devices of this process. Rank r is on the r-th of `devices`. In a world of
/// several processes each gives its own devices, as many as it has, and gets their ranks; data goes
/// between processes by gloo (also for `local`) or MPI.
///
/// The group has no threads of its own. On the host, ranks that arrive or wait claim slices of the
/// work and do them; on GPUs, the last rank to arrive queues it.
/// @return  one rank for each device. When a rank is destroyed, the group is aborted.
/// @throws InvalidArgument  no device is given, one is listed twice, or cpu and cuda devices are
///                          mixed; timeout or segment_bytes is zero or less; or the algorithm does
///                          not exist or refuses this number of ranks. For nccl: a device is not a
///                          GPU, two devices are on one GPU (allowed from NCCL 2.30 on if
///                          NCCL_MULTI_RANK_GPU_ENABLE is 1), or there is no NCCL: the build has
///                          none (has_nccl), and the process has loaded none, as PyTorch does.
/// @throws DeviceError, Timeout  NCCL failed to start.
/// @cost  nccl: NCCL's start, which takes a few tenths of a second, and its buffers on each GPU.
std::vector<std::unique_ptr<Communicator>> make_group(std::span<const Device> devices,
                                                      GroupOptions options = {});

}  // namespace tandem::comm
