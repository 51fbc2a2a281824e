// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tandem/nn/module.hpp"

namespace tandem::nn {

/// A table with a line for each module below `module`: its path, type, the shapes of its own
/// parameters, their count and bytes, and whether they are trained. The last line has the totals.
///
/// `module` itself has a line if it has parameters of its own. A tied parameter is counted where it
/// first occurs, and marked "tied" after that.
std::string summary(const Module& module);

}  // namespace tandem::nn
