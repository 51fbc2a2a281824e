// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace tandem::cli {

/// Below some limits of the system, libraries end the program by a signal or turn in circles
/// instead of saying so: they are looked at before the work.
///
/// Of the main thread's stack. @throws Error  it is too small for any command.
void check_stack();

/// Of address space, data and threads. @throws Error  one is too small for so many devices.
void check_limits(std::size_t devices);

/// Bytes that the process may still take: what the machine has free or could free, swap included,
/// within the process' own limits and its container's.
std::size_t available_host_memory();

/// What the process and the machine have of memory: "the process holds 1.9 GiB of ...".
std::string describe_host_memory();

}  // namespace tandem::cli
