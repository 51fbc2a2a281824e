// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "sim/figure_check.hpp"

#include <cmath>

#include "tandem/core/check.hpp"

#include "sim/fields.hpp"

namespace tandem::sim {
void check_positive(const std::string& path, double value, Dimension dimension) {
  if (!(value > 0) || !std::isfinite(value))
    refuse_field(path, format_quantity(dimension, value) + "; it must be positive");
}

void check_not_negative(const std::string& path, double value, Dimension dimension) {
  if (!(value >= 0) || !std::isfinite(value))
    refuse_field(path, format_quantity(dimension, value) + "; it must not be negative");
}

void check_part(const std::string& path, double value) {
  if (!(value > 0 && value <= 1))
    refuse_field(path, exact_number(value) + "; it must be above 0 and at most 1");
}

void check_number(const std::string& path, double value, double least, double most) {
  if (!(value >= least && value <= most))
    refuse_field(path,
                 detail::concat(exact_number(value),
                                "; it must be from ",
                                exact_number(least),
                                " to ",
                                exact_number(most)));
}

void check_count(const std::string& path, int value, int least, int most) {
  if (value < least || value > most)
    refuse_field(path, detail::concat(value, "; it must be from ", least, " to ", most));
}

}  // namespace tandem::sim
