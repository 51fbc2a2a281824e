// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <string>

#include "tandem/comm/backend.hpp"
#include "tandem/parallel/rank.hpp"
#include "tandem/parallel/rank_error.hpp"
#include "tandem/runtime/device.hpp"

namespace tandem::world {
class World;
}

namespace tandem::parallel {

struct RunRanksOptions {
  /// How long a rank waits for the others in a collective, and how long the call waits for the
  /// others to end after a rank has failed. Both waits are extended as long as the devices keep
  /// beginning pieces of work.
  std::chrono::milliseconds timeout = std::chrono::minutes(5);
  /// The name of the algorithm for the collectives that it has; see comm::GroupOptions.
  std::string algorithm = "direct";
  comm::Backend backend = comm::Backend::local;
  /// The ranks are the devices of all of its processes, each of which calls run_ranks with its own;
  /// it outlives the call. Null: this process's devices alone.
  world::World* world = nullptr;
};

/// Runs `body` once for each device, on the device's thread, as one rank of a group. This is a
/// program for torchrun or mpirun, but in one process. Returns when all ranks have ended.
///
///     run_ranks(devices, [&](Rank& rank) {
///       Net net;
///       net.to(rank.device());
///       DistributedDataParallel ddp(net, rank);
///       ...
///     });
///
/// In a program that a launcher has started as several processes, `{.world = &world}` makes one
/// group of all their devices.
///
/// When a rank fails, the others stop waiting for it (CommAborted).
/// @throws RankError        the first failure that is not just a consequence of another one.
/// @throws Timeout          after a failure, some ranks did not end in time; they are named, and
///                          may still run.
/// @throws InvalidArgument  there is no device, a device is listed twice, the algorithm does not
///                          exist or refuses this number of ranks, or a rank or a replica calls it.
void run_ranks(std::span<const Device> devices,
               std::function<void(Rank&)> body,
               RunRanksOptions options = {});

}  // namespace tandem::parallel
