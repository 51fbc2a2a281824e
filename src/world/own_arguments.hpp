// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace tandem::world {

/// The arguments of this process, without its name.
std::vector<std::string> own_arguments();

}  // namespace tandem::world
