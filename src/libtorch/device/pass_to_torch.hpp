// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/core/error.hpp"
#include "tandem/runtime/device.hpp"

namespace tandem::libtorch {

/// Within an op of PyTorch on a device: throws PyTorch's error in place of one of tandem's that is
/// being handled. PyTorch passes on the text alone, so throw_out_of_memory looks for the error.
[[noreturn]] void pass_to_torch(Device device, const OutOfMemory& error);

}  // namespace tandem::libtorch
