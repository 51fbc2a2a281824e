// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tandem::libtorch {

/// Lets attention run the host's fused kernel where the host would: for devices that PyTorch does
/// not know it makes products and a softmax of it.
void register_attention_kernel();

}  // namespace tandem::libtorch
