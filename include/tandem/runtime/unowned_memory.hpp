// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

#include "tandem/runtime/device.hpp"

namespace tandem {

/// Bytes of the device's GPU that this process holds beyond what the GPU's logical devices have in
/// use: the driver's context, NCCL, cuBLAS, and what pools keep of freed blocks.
///
/// Thread-safe. It is what NVML tells of the process, less MemoryStats::in_use of all logical
/// devices of that GPU; each of them gets the same answer.
/// @return  none: a device of the host, or one that has not been used yet; a build without CUDA; no
///          NVML; or NVML does not tell, as in a container whose process numbers are not the
///          host's.
std::optional<std::size_t> unowned_memory(Device device);

}  // namespace tandem
