// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/core/percentile.hpp"

#include <algorithm>
#include <cmath>

#include "tandem/core/check.hpp"

namespace tandem {

double percentile(std::vector<double> values, double p) {
  TANDEM_CHECK(p >= 0 && p <= 1, "percentile: p is ", p, "; it must be from 0 to 1");
  if (values.empty()) return 0;
  const double rank = std::max(1.0, std::ceil(p * static_cast<double>(values.size())));
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(rank) - 1;
  std::ranges::nth_element(values, at);
  return *at;
}

}  // namespace tandem
