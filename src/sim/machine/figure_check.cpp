// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "sim/machine/figure_check.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "tandem/core/check.hpp"

#include "sim/machine/fields.hpp"

namespace tandem::sim {
namespace {

constexpr double kLeastPart = 1e-6;

/// What a quantity that is not 0 can be.
struct Range {
  double least, most;
  const char* text;
};

Range range_of(Dimension dimension) {
  switch (dimension) {
    case Dimension::bytes:
      return {1, 0x1p60, "from 1 B to 1 EiB"};
    case Dimension::bandwidth:
      return {1e6, 1e18, "from 1 MB/s to 1 EB/s"};
    case Dimension::flops:
      return {1e6, 1e21, "from 1 MFLOP/s to 1 ZFLOP/s"};
    case Dimension::time:
      return {0, 1, "at most 1 s"};
    case Dimension::root_time:
      break;
  }
  return {0, 1e-3 / 32, "at most 1000 us/sqrt(KiB)"};
}

void check_range(const std::string& path, double value, Dimension dimension) {
  const Range range = range_of(dimension);
  if (value == 0 || (value >= range.least && value <= range.most)) return;
  refuse_field(path,
               detail::concat(format_quantity(dimension, value), "; it must be ", range.text));
}

}  // namespace

void check_positive(const std::string& path, double value, Dimension dimension) {
  if (!(value > 0) || !std::isfinite(value))
    refuse_field(path, format_quantity(dimension, value) + "; it must be positive");
  check_range(path, value, dimension);
}

void check_not_negative(const std::string& path, double value, Dimension dimension) {
  if (!(value >= 0) || !std::isfinite(value))
    refuse_field(path, format_quantity(dimension, value) + "; it must not be negative");
  check_range(path, value, dimension);
}

void check_part(const std::string& path, double value) {
  if (!(value >= kLeastPart && value <= 1))
    refuse_field(path, exact_number(value) + "; it must be from 0.000001 to 1");
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

void check_words(const std::string& path, const std::string& words) {
  constexpr unsigned char kFirst = 0x20, kDelete = 0x7f;
  const bool has_control = std::ranges::any_of(words, [](char c) {
    return static_cast<unsigned char>(c) < kFirst || static_cast<unsigned char>(c) == kDelete;
  });
  // Those of 8 bits, of which a terminal takes U+009B for the begin of a command.
  bool has_high = false;
  for (std::size_t at = words.find('\xc2'); at != std::string::npos;
       at = words.find('\xc2', at + 1))
    has_high =
        has_high || (at + 1 < words.size() && static_cast<unsigned char>(words[at + 1]) < 0xa0);
  if (has_control || has_high)
    refuse_field(path,
                 shown_json(words) + "; it must have no control characters, such as ends of lines");
}

void check_count(const std::string& path, int value, int least, int most) {
  if (value < least || value > most)
    refuse_field(path, detail::concat(value, "; it must be from ", least, " to ", most));
}

}  // namespace tandem::sim
