// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tandem/runtime/logical_device.hpp"
#include "tandem/runtime/runtime.hpp"

#include "runtime/gpu/gpu_device.hpp"

namespace tandem {

/// The logical devices that have been made on a GPU.
inline std::vector<LogicalDevice*> devices_of_gpu(int ordinal) {
  std::vector<LogicalDevice*> all = Runtime::instance().made(DeviceType::cuda);
  std::erase_if(all, [&](const LogicalDevice* d) { return d->gpu()->ordinal() != ordinal; });
  return all;
}

}  // namespace tandem
