// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace CLI {
class App;
}

namespace tandem::cli {

/// The shells that can be told what a command line may go on with.
enum class Shell : std::uint8_t { bash, zsh };

/// A script for a shell that completes the commands of `app`, their options, and the values of
/// options that have a few.
std::string completion_script(const CLI::App& app, Shell shell);

}  // namespace tandem::cli
