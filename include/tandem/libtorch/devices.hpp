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

/// Makes virtual devices devices of PyTorch: torch::Device("tandem:3") is cpu:3, with its memory,
/// limit and statistics. PyTorch's kernels for the host compute there.
///
/// From then on PyTorch's allocator of the host's memory is tandem's, which passes on what no
/// virtual device asks for. A call may follow with more devices, also after a backward, but not
/// beside one on another thread; one with as many or fewer does nothing.
/// @param count  of devices, from tandem:0 on.
/// @throws InvalidArgument  count is not in [1, kMaxTorchDevices], or another library has taken
///                          PyTorch's place for foreign devices.
void register_devices(int count);
/// How many devices are registered; 0 before the first call.
int registered_devices();
/// PyTorch's device for a virtual device. @throws InvalidArgument  it is not registered.
c10::Device torch_device(Device device);
/// The virtual device that is PyTorch's `device`, registered or not.
///
/// @throws InvalidArgument  it is another device, or has no index.
Device tandem_device(c10::Device device);

}  // namespace tandem::libtorch
