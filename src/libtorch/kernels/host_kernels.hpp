// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tandem::libtorch {

/// Runs each op that has no kernel of its own for virtual devices by the host's, on the device's
/// bytes, with the device's generator; what it allocates is the device's. To be called once.
///
/// @cost  two to three microseconds an op.
void register_host_kernels();

}  // namespace tandem::libtorch
