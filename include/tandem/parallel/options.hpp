// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tandem/parallel/chunks.hpp"
#include "tandem/runtime/device.hpp"

namespace tandem::parallel {

/// Where parameters are updated and how replicas follow.
enum class Mode : std::uint8_t {
  /// Device 0 owns and updates the model; changed parameters are broadcast, gradients are reduced
  /// to it.
  server,
};

/// "server".
const char* name(Mode mode) noexcept;

/// `DataParallel(net, {.devices = parse..., .gpu0_bsz = 40})`
struct DataParallelOptions {
  std::vector<Device> devices = {};  ///< empty: default_devices(). The first owns the module.
  std::optional<Device> output_device = std::nullopt;  ///< none: devices[0]
  int dim = 0;  ///< of the batch's rows in inputs and outputs
  Mode mode = Mode::server;
  // One of these three at most.
  std::optional<ChunkPolicy> chunks = std::nullopt;     ///< none: even
  std::vector<std::int64_t> chunk_sizes = {};           ///< short for ChunkPolicy::sizes
  std::optional<std::int64_t> gpu0_bsz = std::nullopt;  ///< short for ChunkPolicy::gpu0
  /// Micro-batches of a step: their gradients make one update, that of the whole batch. Activations
  /// take the memory of one. A batch of fewer rows has fewer.
  std::int64_t accumulate = 1;
  std::chrono::milliseconds deadline =
      std::chrono::minutes(5);  ///< of one call; then the group is poisoned
  std::size_t first_bucket_nbytes = std::size_t{1} << 20;
  std::size_t bucket_nbytes = std::size_t{25} << 20;
};

/// The one chunk policy that `options` name. @throws InvalidArgument  they name two.
ChunkPolicy chunk_policy(const DataParallelOptions& options);

}  // namespace tandem::parallel
