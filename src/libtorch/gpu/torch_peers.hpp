// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tandem/runtime/device.hpp"

namespace tandem::libtorch {

/// Whether a copy of PyTorch's between two GPUs hangs, or brings other bytes, as it does with some
/// IOMMU and PCIe settings. Tried once in a process, in both directions. Thread-safe.
///
/// @throws DeviceError, OutOfMemory  a GPU refused the trial; the next call tries again.
bool are_broken_peers(int gpu, int other);

/// @throws InvalidArgument  a copy between two of the devices' GPUs does not arrive.
void check_peers(const std::vector<Device>& devices);

}  // namespace tandem::libtorch
