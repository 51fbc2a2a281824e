// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace tandem::cli {

/// Checks the limit of the main thread's stack.
///
/// Below some limits of the system, libraries end the program by a signal or loop forever and say
/// nothing. So the limits are checked before the work.
/// @throws Error  it is too small for any command.
void check_stack();

/// Checks the limits of address space, data and threads, for the same reason.
/// @throws Error  one is too small for so many devices.
void check_limits(std::size_t devices);

/// Bytes that the process may still take: what the machine has free or can free, swap included,
/// within the limits of the process and of its container.
std::size_t available_host_memory();

/// The memory of the process and of the machine, in words: "the process has 1.9 GiB of ...".
std::string describe_host_memory();

}  // namespace tandem::cli
