// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tandem::libtorch {

/// Registers ops that do in a replica what they do on one device with the whole batch: batch norm
/// synchronises its statistics, and dropout may draw by row. Outside of replicas they are
/// PyTorch's.
void register_replica_kernels();

}  // namespace tandem::libtorch
