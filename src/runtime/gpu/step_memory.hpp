// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>

#include "tandem/runtime/logical_device.hpp"

#include "runtime/gpu/devices_of_gpu.hpp"

// The memory that plans are made of. It is what tandem has allocated, but on a GPU whose memory is
// another library's, what that library has reserved: it has the activations, too.
namespace tandem {

/// Whether its GPU's memory is another library's, and of several logical devices.
inline bool shares_other_memory(const LogicalDevice& device) {
  const GpuDevice* const gpu = device.gpu();
  return gpu != nullptr && gpu->reserved() && devices_of_gpu(gpu->ordinal()).size() > 1;
}

/// The GPU, if its memory is another library's and this is its only logical device.
inline const GpuDevice* gpu_of_other_memory(const LogicalDevice& device) {
  const GpuDevice* const gpu = device.gpu();
  return gpu == nullptr || !gpu->reserved() || shares_other_memory(device) ? nullptr : gpu;
}

/// The bytes that a step may have there: the device's limit, or what its GPU has. SIZE_MAX: any.
inline std::size_t most_of_step(const LogicalDevice& device) {
  const GpuDevice* const gpu = gpu_of_other_memory(device);
  return gpu == nullptr ? device.limit() : std::min(device.limit(), gpu->reserved()->most);
}

/// A step begins, whose peak is to be measured. No work runs on the device.
inline void begin_peak(LogicalDevice& device) {
  device.reset_peak();
  if (const GpuDevice* const gpu = gpu_of_other_memory(device)) gpu->begin_peak();
}

/// The most bytes that were there at once since then.
inline std::size_t peak_of_step(const LogicalDevice& device) {
  const GpuDevice* const gpu = gpu_of_other_memory(device);
  return gpu == nullptr ? device.memory_stats().peak : gpu->reserved()->peak;
}

}  // namespace tandem
