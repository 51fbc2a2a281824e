// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

namespace tandem::optim {

/// A saved number is a count of steps: whole, from 0 on, and small enough to go on from.
inline bool is_count(double number) noexcept {
  return number >= 0 && number < 1e15 && number == std::floor(number);
}

}  // namespace tandem::optim
