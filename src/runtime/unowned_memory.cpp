// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/unowned_memory.hpp"

#include <algorithm>

#include "tandem/runtime/runtime.hpp"

#include "runtime/gpu/gpu_backend.hpp"

namespace tandem {

std::optional<std::size_t> unowned_memory(Device device) {
  const auto devices = Runtime::instance().made(DeviceType::cuda);
  const auto found = std::ranges::find(devices, device, &LogicalDevice::device);
  if (found == devices.end()) return std::nullopt;
  const int gpu = (*found)->gpu()->ordinal();
  const std::optional<std::size_t> held = gpu_backend().held_by_process(gpu);
  std::size_t in_use = 0;
  for (const LogicalDevice* d : devices) {
    if (d->gpu()->ordinal() == gpu) in_use += d->memory_stats().in_use;
  }
  // Less than what is in use is not this process's: another one has its number.
  if (held && *held >= in_use) return *held - in_use;
  return std::nullopt;
}

}  // namespace tandem
