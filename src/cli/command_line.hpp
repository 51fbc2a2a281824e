// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace tandem::cli {

/// Reads the command line.
///
/// @return what carries out the command and gives the exit code; empty: the answer was printed, as
///         for --help.
/// @throws UsageError  a command line that is wrong; it names what is nearest to an unknown word.
std::function<int()> read_command_line(int argc, const char* const* argv);

}  // namespace tandem::cli
