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
  std::int64_t rows = 0;  ///< 0: not even one row fits
  StepProbe step = {};    ///< its step: rows and peaks by device
  int tries = 0;
  bool is_largest = true;  ///< false: larger batches may fit, but `most` ended the search
};

namespace detail {

/// Tries batches until one fits and a batch with one more row does not. Guesses the next size by
/// extending the lines through the measured peaks.
///
/// @param fits  (rows) -> what the step needed; none: it does not fit.
/// @param most  no batch larger than this is tried.
/// @throws InvalidArgument  a host device has no limit, so that any batch fits.
LargestBatch search_largest_batch(
    std::span<const Device> devices,
    std::int64_t most,
    const std::function<std::optional<StepProbe>(std::int64_t rows)>& fits);

}  // namespace detail
}  // namespace tandem::parallel
