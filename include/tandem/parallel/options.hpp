// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tandem/comm/backend.hpp"
#include "tandem/parallel/buffer_rule.hpp"
#include "tandem/parallel/chunks.hpp"
#include "tandem/parallel/combine.hpp"
#include "tandem/parallel/non_finite.hpp"
#include "tandem/runtime/device.hpp"

namespace tandem::parallel {

/// Where parameters are updated and how replicas follow. The result is the same in all, bit for
/// bit.
enum class Mode : std::uint8_t {
  /// PyTorch's nn.DataParallel as it is, for comparison: in every forward, threads are started and
  /// all
  /// parameters and buffers are broadcast; gradients are reduced to device 0 when backward has
  /// ended.
  classic,
  /// Device 0 owns and updates the model; changed parameters are broadcast, gradients are reduced
  /// to it while backward runs.
  server,
  /// Each device reduces, and updates, its share of the parameters, and has its share of the
  /// optimizer's state; the updated values go to all. Device 0 owns the model as before: its
  /// parameters are up to date after an update, and its gradients are gathered when they are read.
  /// An optimizer of whole tensors (LAMB) updates on device 0.
  sharded,
  /// PyTorch's DistributedDataParallel, for comparison: each device gets all gradients, added up
  /// while backward runs, and updates its own copy by its own copy of the optimizer's state; no
  /// parameter is sent. What a caller changes on device 0 (a gradient that is clipped, a parameter)
  /// goes to the others.
  ddp,
};

/// All modes.
inline constexpr std::array kModes{Mode::classic, Mode::server, Mode::sharded, Mode::ddp};
/// "classic", "server", "sharded", "ddp".
const char* name(Mode mode) noexcept;
/// The mode of that name; none where there is no such mode.
std::optional<Mode> parse_mode(std::string_view name) noexcept;

/// What a step does where a device is out of memory.
enum class OnOutOfMemory : std::uint8_t {
  error,   ///< ReplicaError; nothing has changed
  replan,  ///< the same step with other rows for the devices, and those from then on
};

/// `DataParallel(net, {.devices = parse..., .gpu0_bsz = 40})`
struct DataParallelOptions {
  std::vector<Device> devices = {};  ///< empty: default_devices(). The first owns the module.
  std::optional<Device> output_device = std::nullopt;  ///< none: devices[0]; any
  int dim = 0;                       ///< of the batch's rows in inputs and outputs
  Combine scalars = Combine::stack;  ///< what becomes of outputs without dimensions
  Mode mode = Mode::sharded;
  // One of these three at most.
  std::optional<ChunkPolicy> chunks = std::nullopt;     ///< none: even
  std::vector<std::int64_t> chunk_sizes = {};           ///< short for ChunkPolicy::sizes
  std::optional<std::int64_t> gpu0_bsz = std::nullopt;  ///< short for ChunkPolicy::gpu0
  /// Of `step`. With replan the devices' needs are measured by steps without effect (see
  /// ChunkPolicy::planned), and rows go where there is room; the weights are those of a run that
  /// had the new plan from this step on, bit for bit. A batch that fits in no way is an error that
  /// names the largest one that does.
  OnOutOfMemory on_oom = OnOutOfMemory::error;
  /// Micro-batches of a step: their gradients make one update, that of the whole batch. Activations
  /// take the memory of one. A batch of fewer rows has fewer.
  std::int64_t accumulate = 1;
  /// Above 0, `step` gives the same bits on any number of devices and however the batch is cut: it
  /// is cut into so many leaves (or one for each row), each calculated by one thread of one device,
  /// whose gradients are added up in a fixed tree. No dtype, no op makes a difference; another
  /// number of leaves does. Not for modules whose buffers change in training (batch norm).
  /// @cost  a device works with one thread, on smaller products; a copy of the gradients for each
  ///        leaf, and on each device memory for up to log2(leaves) + 1 of them.
  std::int64_t bitwise_leaves = 0;
  /// For each buffer the first rule that names it; without one BufferMerge::first.
  std::vector<BufferRule> buffers = {};
  NonFinite non_finite_loss = NonFinite::error;
  /// Other than off it costs a pass over the reduced gradients, and a read of the device.
  NonFinite non_finite_gradients = NonFinite::off;
  /// Steps after which the replicas' parameters and buffers are compared with device 0's, by their
  /// hashes; a step that finds a difference throws ReplicaError around ReplicaDrift, and has no
  /// effect. 0: never.
  std::int64_t check_drift_every = 0;
  /// A step names the device whose forward takes more than so many times as long as the others', in
  /// StepResult::straggler. Replicas with synchronised batch norm wait for each other in forward,
  /// so that none stands out.
  double straggler_ratio = 5;
  /// A call has failed when none of its devices has begun another piece of work for so long: it
  /// throws Timeout, and the wrapper refuses all calls from then on. A call that is long but alive
  /// goes on.
  std::chrono::milliseconds deadline = std::chrono::minutes(5);
  comm::Backend backend = comm::Backend::local;  ///< of what devices exchange among themselves
  std::size_t first_bucket_nbytes = std::size_t{1} << 20;
  std::size_t bucket_nbytes = std::size_t{25} << 20;
};

/// The one chunk policy that `options` name. @throws InvalidArgument  they name two.
ChunkPolicy chunk_policy(const DataParallelOptions& options);

}  // namespace tandem::parallel
