// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/unowned_memory.hpp"

#include <algorithm>

#include "tandem/config.hpp"
#include "tandem/runtime/runtime.hpp"

#include "runtime/cuda/backend.hpp"
#include "runtime/cuda/nvml.hpp"

namespace tandem {

std::optional<std::size_t> unowned_memory(Device device) {
  if constexpr (has_cuda) {
    const auto devices = Runtime::instance().made(DeviceType::cuda);
    const auto found = std::ranges::find(devices, device, &LogicalDevice::device);
    if (found == devices.end()) return std::nullopt;
    const int gpu = (*found)->cuda()->gpu();
    const std::optional<std::size_t> held = cuda::held_by_process(gpu);
    std::size_t in_use = 0;
    for (const LogicalDevice* d : devices) {
      if (d->cuda()->gpu() == gpu) in_use += d->memory_stats().in_use;
    }
    // Less than what is in use is not this process's: another one has its number.
    if (held && *held >= in_use) return *held - in_use;
  }
  return std::nullopt;
}

}  // namespace tandem
