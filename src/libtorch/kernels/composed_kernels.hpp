// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tandem::libtorch {

/// Registers the ops that PyTorch leaves to a foreign device, and which its host has under another
/// name (convolutions, the cells of LSTM and GRU) or with its own generator (dropout). To be called
/// once.
void register_composed_kernels();

}  // namespace tandem::libtorch
