// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tandem::libtorch {

/// Gives PyTorch's engine a thread for each of `count` devices, if its first backward has been.
///
/// The engine counts devices and starts their threads in the first backward of the process, and
/// ends the program with an internal assertion in a backward on a device that came later. Devices
/// must be registered before. Not to be called beside a backward on another foreign device.
void start_backward_threads(int count);

}  // namespace tandem::libtorch
