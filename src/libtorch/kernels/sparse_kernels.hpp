// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tandem::libtorch {

/// Registers kernels for sparse tensors (COO) of virtual devices, such as the gradients of an
/// embedding. Their indices and values are tensors of the device.
void register_sparse_kernels();

}  // namespace tandem::libtorch
