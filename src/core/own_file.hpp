// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace tandem {

/// The file that this code was loaded from, as the system knows it: libtandem, or a program that it
/// was linked into. It does not depend on the name by which the program was called, nor on the
/// current folder. Empty: the system does not say it.
std::filesystem::path own_file();

}  // namespace tandem
