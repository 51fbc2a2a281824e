// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Generator.h>

namespace tandem::libtorch {

/// Gives PyTorch the generators of virtual devices, and lets it change the size of their storages.
/// To be called once.
void register_device_hooks();

/// The default generator of a virtual device.
at::Generator& generator_of(int device);

}  // namespace tandem::libtorch
