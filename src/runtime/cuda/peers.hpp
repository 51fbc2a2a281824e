// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tandem::cuda {

/// Whether two GPUs' kernels may read and write each other's memory. Asks the driver and then tries
/// it with data, once per pair. With TANDEM_NO_CUDA_PEERS=1 in the environment no GPUs are peers.
///
/// @throws DeviceError
bool are_peers(int gpu, int other);
/// Whether the driver says that two GPUs reach each other, and a trial has shown that they do not.
/// @throws DeviceError
bool are_broken_peers(int gpu, int other);
/// From here on the two are not peers: the driver has refused one the other's memory.
void refuse_peers(int gpu, int other) noexcept;

}  // namespace tandem::cuda
