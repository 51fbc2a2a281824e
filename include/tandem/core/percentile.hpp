// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace tandem {

/// The smallest value that is at least as large as a share `p` of `values` (nearest rank).
///
/// @param p  in [0, 1]. 0.5 gives the median; of an even number of values, the lower median.
/// @return 0 if there are no values.
/// @throws InvalidArgument  `p` is outside [0, 1].
double percentile(std::vector<double> values, double p);

}  // namespace tandem
