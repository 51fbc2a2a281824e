// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tandem::libtorch {

/// Registers what makes tensors of virtual devices, views them and copies them. To be called once.
///
/// Copies between devices are told to observers. The host's tensors count as those of cpu:0.
void register_tensor_kernels();

}  // namespace tandem::libtorch
