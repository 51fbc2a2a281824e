// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/stragglers.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "tandem/core/percentile.hpp"

namespace tandem::parallel {

std::optional<Straggler> find_straggler(const std::vector<Device>& devices,
                                        const std::vector<RowRange>& rows,
                                        const std::vector<std::chrono::nanoseconds>& times,
                                        double ratio) {
  constexpr std::chrono::nanoseconds kChance = std::chrono::milliseconds(20);
  const auto last = static_cast<std::size_t>(std::ranges::max_element(times) - times.begin());
  std::vector<double> other_times, other_rows;
  for (std::size_t d = 0; d < devices.size(); ++d) {
    const std::int64_t own = rows[d].end - rows[d].begin;
    if (d == last || own <= 0) continue;
    other_times.push_back(static_cast<double>(times[d].count()));
    other_rows.push_back(static_cast<double>(own));
  }
  if (other_times.empty()) return std::nullopt;
  const double share =
      static_cast<double>(rows[last].end - rows[last].begin) / percentile(other_rows, 0.5);
  const double expected = percentile(other_times, 0.5) * std::max(1.0, share);
  const auto time = static_cast<double>(times[last].count());
  if (time - expected <= static_cast<double>(kChance.count()) || time <= ratio * expected)
    return std::nullopt;
  return Straggler{devices[last], time / expected};
}

}  // namespace tandem::parallel
