// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

namespace tandem::cli {

/// Whether these words are of a command about a program of PyTorch, which the Python package
/// carries out: `run` and `stand_in`, and `memory` with a program or a snapshot.
bool is_about_torch(std::span<const std::string> words);

/// Becomes the Python package with the same words, and says so on stderr.
///
/// @throws Error  there is no python3.
[[noreturn]] void become_python(std::span<const std::string> words);

}  // namespace tandem::cli
