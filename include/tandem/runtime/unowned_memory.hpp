// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

#include "tandem/runtime/device.hpp"

namespace tandem {

/// Bytes that this process holds on the device's GPU beyond what the GPU's logical devices have in
/// use: the driver's context, NCCL, cuBLAS, and freed blocks that pools keep.
///
/// Thread-safe. The result is the process's memory as NVML reports it, minus MemoryStats::in_use of
/// all logical devices of that GPU. All logical devices of a GPU get the same answer.
/// @return  nothing for a host device, for a device that has not been used yet, and in a build
///          without CUDA. Also nothing if there is no NVML or it does not report this process, as
///          in a container whose process numbers differ from the host's.
std::optional<std::size_t> unowned_memory(Device device);

}  // namespace tandem
