// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace tandem {

/// The smallest of `values` that at least a share `p` of them does not exceed (nearest rank).
///
/// @param p  in [0, 1]: 0.5 is the median, the lower one of an even number of values.
/// @return 0 where there are no values.
double percentile(std::vector<double> values, double p);

}  // namespace tandem
