// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tandem/nn/module.hpp"

namespace tandem::nn {

/// A table of the modules below `module`: path, type, shapes of their own parameters, how many
/// numbers and bytes these are, and whether they are trained; totals in the last line.
///
/// A tied parameter is counted where it comes first, and marked "tied" after that.
std::string summary(const Module& module);

}  // namespace tandem::nn
