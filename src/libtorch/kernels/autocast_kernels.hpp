// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tandem::libtorch {

/// Registers which ops autocast runs in 16 bits on virtual devices, and which in f32: as on
/// GPUs. To be called once.
void register_autocast_kernels();

}  // namespace tandem::libtorch
