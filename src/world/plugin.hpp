// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tandem::world {

/// A function of libtandem-NAME.so, which has what needs a library that not every machine has. It
/// is looked for in the folder of the environment variable TANDEM_PLUGINS, if that is not empty; in
/// the folder of this program or library, in tandem below that, and in lib/tandem beside it; in the
/// installation that a program was built against; and where the build installs it. The name by
/// which the program was called and the current folder do not count. Once loaded it stays.
///
/// @param package  what the error says to install.
/// @throws CommError  it is nowhere, or cannot be loaded; the text has the reason and the remedy.
void* plugin_function(const std::string& name, const char* function, const std::string& package);

}  // namespace tandem::world
