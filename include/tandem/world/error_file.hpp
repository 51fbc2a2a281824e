// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>

namespace tandem::world {

/// Writes an error into the file from which torchrun learns why a process has failed, so that its
/// report has the text. Without TORCHELASTIC_ERROR_FILE in the environment it does nothing.
///
/// run_ranks over processes and the program `tandem` call it by themselves; another program calls
/// it where it catches its last error. A process's first error stays. torchrun takes the earliest
/// process for the cause, in whole seconds, so an error that only passes on another rank's end
/// (CommAborted) is dated a second later. Thread-safe. An error of the file system is not told.
void write_error_file(const std::exception& error) noexcept;

}  // namespace tandem::world
