// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "sim/machine/quantity.hpp"

namespace tandem::sim {

// Each refuses a figure that no machine has, by InvalidArgument with the field's path, the figure
// in as many digits as tell it from the bound, and the range. The ranges hold more than any
// machine, and keep times that are made of the figures far from overflowing.

/// A quantity that is above 0, and in the range of its dimension.
void check_positive(const std::string& path, double value, Dimension dimension);
/// A quantity that is 0, or in the range of its dimension.
void check_not_negative(const std::string& path, double value, Dimension dimension);
/// A part of something, which is never quite 0.
void check_part(const std::string& path, double value);
/// A number from `least` to `most`, both of which are possible.
void check_number(const std::string& path, double value, double least, double most);
/// Words that a terminal shows as they are.
void check_words(const std::string& path, const std::string& words);
void check_count(const std::string& path, int value, int least, int most);

}  // namespace tandem::sim
