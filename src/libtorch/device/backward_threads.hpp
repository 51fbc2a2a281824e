// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace tandem::libtorch {

/// Gives PyTorch's engine a thread for each of `count` devices, if its first backward has been.
///
/// The engine counts devices and starts their threads in the first backward of the process, and
/// ends the program with an internal assertion in a backward on a device that came later. Devices
/// must be registered before. Not to be called beside a backward on another foreign device.
void start_backward_threads(int count);

/// Waits until the engine's threads of `count` devices have let go of the backwards that have ended
/// or failed, at most for `patience`. They may hold objects of Python: a thread that asks for the
/// interpreter's lock while the interpreter ends would end the program by an abort.
///
/// To be called without that lock. Does nothing before the first backward.
void settle_backward_threads(int count, std::chrono::milliseconds patience);

}  // namespace tandem::libtorch
