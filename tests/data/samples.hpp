// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tandem/data/dataset.hpp"

namespace tandem::datasets {

/// The samples of a data set at a list of indices.
inline std::vector<HostArray> samples(const Dataset& set,
                                      const std::vector<std::int64_t>& indices) {
  return set.get(indices);
}

}  // namespace tandem::datasets
