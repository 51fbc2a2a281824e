// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "tandem/comm/backend.hpp"
#include "tandem/parallel/buffer_rule.hpp"
#include "tandem/parallel/checks.hpp"
#include "tandem/parallel/chunks.hpp"
#include "tandem/parallel/combine.hpp"
#include "tandem/parallel/exchange.hpp"
#include "tandem/parallel/mode.hpp"
#include "tandem/parallel/sharding.hpp"
#include "tandem/runtime/device.hpp"

namespace tandem::world {
class World;
}

namespace tandem::parallel {

/// What a step does when a device is out of memory.
enum class OnOutOfMemory : std::uint8_t {
  error,   ///< throws ReplicaError; nothing has changed
  replan,  ///< repeats the step with another division of the rows, and keeps it from then on
};

/// `DataParallel(net, {.devices = devices, .gpu0_bsz = 40})`
struct DataParallelOptions {
  std::vector<Device> devices = {};  ///< empty: default_devices(). The first owns the module.
  std::optional<Device> output_device = std::nullopt;  ///< any device; none: devices[0]
  int dim = 0;                       ///< the dimension of the batch's rows in inputs and outputs
  Combine scalars = Combine::stack;  ///< how outputs without dimensions are combined
  Mode mode = Mode::sharded;
  /// Where the module is before it is wrapped. From there it moves to the first device, in
  /// fully_sharded a unit at a time, so that no device ever holds all of it but this one: another
  /// host device, for example. None: it is on the first device already.
  std::optional<Device> init_on = std::nullopt;
  // Give at most one of these three.
  std::optional<ChunkPolicy> chunks = std::nullopt;     ///< none: even
  std::vector<std::int64_t> chunk_sizes = {};           ///< short for ChunkPolicy::sizes
  std::optional<std::int64_t> gpu0_bsz = std::nullopt;  ///< short for ChunkPolicy::gpu0
  /// What `step` does when a device is out of memory. With replan, the devices' needs are measured
  /// by steps without effect (see ChunkPolicy::planned), and rows go where there is room. The
  /// weights are those of a run that had the new plan from this step on, bit for bit. A batch that
  /// does not fit in any way is an error that names the largest one that does.
  OnOutOfMemory on_oom = OnOutOfMemory::error;
  /// Micro-batches per step. Their gradients make one update, that of the whole batch, and only one
  /// micro-batch's activations are in memory at a time. A batch with fewer rows than this has one
  /// micro-batch per row.
  std::int64_t accumulate = 1;
  /// If above 0, `step` gives the same bits on any number of devices, however the batch is divided.
  /// The batch is cut into this many leaves (at most one per row). One thread of one device
  /// computes each leaf, and the gradients of the leaves are summed in a fixed tree. This holds for
  /// every dtype and every op; another number of leaves gives other bits. Not for modules whose
  /// buffers change in training (batch norm).
  /// @cost  each device works with one thread, on smaller products; the gradients are copied once
  ///        per leaf, and each device needs memory for up to log2(leaves) + 1 copies.
  std::int64_t bitwise_leaves = 0;
  /// The first rule that matches a buffer applies to it; without one, BufferMerge::first.
  std::vector<BufferRule> buffers = {};
  Sharding sharding = {};  ///< in modes sharded_gradients and fully_sharded
  Checks checks = {};
  /// A call fails if none of its devices has begun another piece of work for this long. It throws
  /// Timeout, and the wrapper refuses all later calls. A replica that hung may go on after that:
  /// what the module and the loss refer to must outlive it. A long call whose devices keep working
  /// does not fail.
  std::chrono::milliseconds deadline = std::chrono::minutes(5);
  comm::Backend backend = comm::Backend::local;  ///< for the exchange among devices
  /// The processes that train together. Each has replicas on as many devices and its own part of
  /// each batch; between them gradients are added up as by DistributedDataParallel, so that all
  /// have the same weights. A step's loss is the mean over all rows of all of them. All make the
  /// same calls, and have the same random seed; the module's values are process 0's. It outlives
  /// the wrapper. Null: this process trains alone.
  ///
  /// Not with planned chunks, on_oom = replan, bitwise_leaves or no_sync.
  world::World* world = nullptr;
  Exchange exchange = {};
};

/// The chunk policy that `options` name. @throws InvalidArgument  they name more than one.
ChunkPolicy chunk_policy(const DataParallelOptions& options);

}  // namespace tandem::parallel
