// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "tandem/parallel/step_model.hpp"
#include "tandem/runtime/device.hpp"

namespace tandem::parallel {

/// The largest batch whose step fits.
struct LargestBatch {
  std::int64_t rows = 0;  ///< 0: not even the smallest that was tried fits
  StepProbe step = {};    ///< of it: rows and peaks by device
  int tries = 0;
  bool is_largest = true;  ///< false: larger ones may fit, and were not asked for
};

namespace detail {

/// Tries batches until one fits and one row more does not, led by the lines that the peaks are on.
///
/// @param fits  (rows) -> what the step needed; none: it does not fit.
/// @param most  rows that are not gone beyond.
/// @throws InvalidArgument  a host device has no limit, and so nothing that a batch could reach.
LargestBatch search_largest_batch(
    std::span<const Device> devices,
    std::int64_t most,
    const std::function<std::optional<StepProbe>(std::int64_t rows)>& fits);

}  // namespace detail
}  // namespace tandem::parallel
