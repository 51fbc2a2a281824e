// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/nn/difference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tandem/core/check.hpp"

namespace tandem::nn {
namespace {

constexpr double kShare = 1e-3;  // of the model's largest number: below, a tensor counts as zero

double largest(const std::vector<double>& values) {
  double most = 0;
  for (const double v : values)
    most = std::max(most, std::abs(v));
  return most;
}

/// max|a - b| / max(max|b|, floor).
double relative_gap(const std::vector<double>& a, const std::vector<double>& b, double floor) {
  double gap = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    if (!std::isfinite(a[i]) || !std::isfinite(b[i]))
      return std::numeric_limits<double>::infinity();
    gap = std::max(gap, std::abs(a[i] - b[i]));
  }
  return gap == 0 ? 0 : gap / std::max(largest(b), floor);
}

}  // namespace

Difference difference(const NamedValues& a, const NamedValues& b) {
  TANDEM_CHECK(a.size() == b.size(),
               "difference: one model has ",
               a.size(),
               " tensors, and the other has ",
               b.size());
  double most = 0;
  for (const auto& [name, values] : b)
    most = std::max(most, largest(values));
  Difference worst;
  for (const auto& [name, values] : b) {
    const auto other = a.find(name);
    TANDEM_CHECK(other != a.end(), "difference: '", name, "' is in only one of the models");
    TANDEM_CHECK(other->second.size() == values.size(),
                 "difference: '",
                 name,
                 "' has ",
                 other->second.size(),
                 " numbers in one model, and in the other ",
                 values.size());
    const double gap = relative_gap(other->second, values, kShare * most);
    if (gap > worst.value) worst = {gap, name};
  }
  return worst;
}

}  // namespace tandem::nn
