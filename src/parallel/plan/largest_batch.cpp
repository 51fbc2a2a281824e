// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/parallel/largest_batch.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "tandem/core/check.hpp"
#include "tandem/runtime/runtime.hpp"

#include "runtime/gpu/step_memory.hpp"

namespace tandem::parallel::detail {
namespace {

std::int64_t total(const StepProbe& probe) {
  std::int64_t rows = 0;
  for (const std::int64_t r : probe.rows)
    rows += r;
  return rows;
}

/// Rows at which the first device reaches its limit, by the lines through two steps; where none has
/// a limit, twice as many.
std::int64_t reach(std::span<const Device> devices, const StepProbe& less, const StepProbe& more) {
  const auto rows = static_cast<double>(total(more));
  const double step = rows - static_cast<double>(total(less));
  double least = 1e15;
  bool limited = false;
  for (std::size_t d = 0; d < devices.size(); ++d) {
    const auto peak = static_cast<double>(more.peak_bytes[d]);
    const double slope = (peak - static_cast<double>(less.peak_bytes[d])) / step;
    const std::size_t limit = most_of_step(logical_device(devices[d]));
    limited = limited || limit != SIZE_MAX;
    if (limit == SIZE_MAX || slope <= 0) continue;
    least = std::min(least, rows + (static_cast<double>(limit) - peak) / slope);
  }
  return static_cast<std::int64_t>(limited ? least : 2 * rows);
}

}  // namespace

LargestBatch search_largest_batch(
    std::span<const Device> devices,
    std::int64_t most,
    const std::function<std::optional<StepProbe>(std::int64_t rows)>& fits) {
  constexpr std::int64_t kGrowth = 16;  // from one try to the next, at most
  for (const Device d : devices) {
    TANDEM_CHECK(
        d.type != DeviceType::cpu || logical_device(d).limit() != SIZE_MAX,
        "largest batch: ",
        d,
        " has no limit, so any batch fits until the host's memory is full; give the device a limit "
        "(cpu:4@512MiB)");
  }
  TANDEM_CHECK(most > 0, "largest batch: the most rows to try is ", most, "; give 1 or more");
  most = std::min(most, std::numeric_limits<std::int64_t>::max() - 1);
  LargestBatch best;
  std::optional<StepProbe> before;   // the one that fitted before the best
  std::int64_t too_many = most + 1;  // or not asked for
  bool bisect = false;
  std::int64_t next = std::min<std::int64_t>(2 * static_cast<std::int64_t>(devices.size()), most);
  while (best.rows + 1 < too_many) {
    ++best.tries;
    if (auto step = fits(next)) {
      if (best.rows > 0) before = std::move(best.step);
      best.rows = next;
      best.step = std::move(*step);
    } else {
      too_many = next;
    }
    next = before ? reach(devices, *before, best.step) : 2 * best.rows;
    if (bisect && too_many <= most) next = best.rows + (too_many - best.rows) / 2;
    bisect = !bisect;
    next = std::min(next, kGrowth * best.rows);
    next = std::clamp(next, best.rows + 1, std::max(too_many - 1, best.rows + 1));
  }
  best.is_largest = too_many <= most;
  return best;
}

}  // namespace tandem::parallel::detail
