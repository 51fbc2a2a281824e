// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tandem/libtorch/detail/torch_device.hpp"
#include "tandem/runtime/device.hpp"

namespace tandem::libtorch {

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

/// All GPUs that PyTorch sees, as devices: cuda:0 and so on. Their memory, streams and events stay
/// PyTorch's. A call after the first one changes nothing. Thread-safe.
///
/// @throws InvalidArgument  PyTorch has no CUDA or sees no GPU; tandem's own GPUs are in use; or
///                          virtual devices are registered, since PyTorch's engine takes one kind
///                          of accelerator.
std::vector<Device> gpus();

}  // namespace tandem::libtorch
