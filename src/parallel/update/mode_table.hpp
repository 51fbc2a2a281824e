// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "parallel/update/mode_rules.hpp"

namespace tandem::parallel {

/// The rows of all modes, at the modes' numbers. They live as long as the program.
std::span<const ModeRules> mode_table() noexcept;

}  // namespace tandem::parallel
