// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/runtime/device.hpp"

namespace c10 {
struct Device;
}

namespace tandem::libtorch {

/// The largest number of devices; PyTorch starts a thread for each.
inline constexpr int kMaxTorchDevices = 64;

/// How many devices are registered; 0 before the first call.
int registered_devices();
/// Called by register_devices.
void set_registered_devices(int count) noexcept;
/// PyTorch's device for a virtual device. @throws InvalidArgument  it is not registered.
c10::Device torch_device(Device device);
/// The virtual device that is PyTorch's `device`, registered or not.
///
/// @throws InvalidArgument  it is another device, or has no index.
Device tandem_device(c10::Device device);

}  // namespace tandem::libtorch
