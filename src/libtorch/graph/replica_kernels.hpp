// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/DeviceType.h>

namespace tandem::libtorch {

/// Registers ops that do in a replica what they do on one device with the whole batch: batch norm
/// synchronises its statistics, and dropout may draw by row. Outside of replicas they are
/// PyTorch's. To be called once for a type.
///
/// @param type  of virtual devices (PrivateUse1) or of GPUs (CUDA).
void register_replica_kernels(c10::DeviceType type);

}  // namespace tandem::libtorch
