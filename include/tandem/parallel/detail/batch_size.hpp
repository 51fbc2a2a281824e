// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tandem::parallel {

/// The size of a batch, for plans.
struct BatchSize {
  std::int64_t rows = 0;
  std::vector<std::size_t> nbytes;  ///< by device: bytes of the split tensors that lie there
};

}  // namespace tandem::parallel
