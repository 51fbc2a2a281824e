// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/libtorch/detail/torch_device.hpp"

#include <atomic>
#include <vector>

#include <c10/core/Device.h>

#include "tandem/core/check.hpp"
#include "tandem/runtime/runtime.hpp"

#include "libtorch/gpu/gpu_call.hpp"
#include "runtime/gpu/devices_of_gpu.hpp"

namespace tandem::libtorch {
namespace {

std::atomic<int> registered{0};

}  // namespace

int registered_devices() {
  return registered;
}

void set_registered_devices(int count) noexcept {
  registered = count;
}

c10::Device torch_device(Device device) {
  if (device.type == DeviceType::cuda) return gpu_of(logical_device(device).gpu()->ordinal());
  const int count = registered_devices();
  TANDEM_CHECK(device.type == DeviceType::cpu && device.index < count,
               "torch_device: ",
               device,
               " is not registered; ",
               count,
               " virtual devices are: call register_devices");
  return {c10::DeviceType::PrivateUse1, static_cast<c10::DeviceIndex>(device.index)};
}

Device tandem_device(c10::Device device) {
  if (device.is_cuda() && device.has_index()) {
    const std::vector<LogicalDevice*> there = devices_of_gpu(device.index());
    return there.empty() ? Device{DeviceType::cuda, device.index()} : there.front()->device();
  }
  TANDEM_CHECK(device.type() == c10::DeviceType::PrivateUse1 && device.has_index(),
               "tandem_device: ",
               device.str(),
               " is no virtual device; give one with its index, such as tandem:0");
  return {DeviceType::cpu, device.index()};
}

}  // namespace tandem::libtorch
