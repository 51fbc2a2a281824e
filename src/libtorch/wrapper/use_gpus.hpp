// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tandem::libtorch {

/// PyTorch's GPUs become devices of type cuda, and ops of replicas there what they are on one
/// device. Every call but the first does nothing. Thread-safe.
///
/// @throws InvalidArgument  PyTorch has no CUDA or sees no GPU, tandem's own devices of type cuda
///                          are in use, or there are virtual devices: PyTorch's engine takes one
///                          kind of accelerator.
void use_gpus();

}  // namespace tandem::libtorch
