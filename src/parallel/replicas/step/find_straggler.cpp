// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/step/find_straggler.hpp"

#include <algorithm>

#include "tandem/core/percentile.hpp"

namespace tandem::parallel {

std::optional<Straggler> find_straggler(const std::vector<ForwardTime>& devices, double ratio) {
  constexpr std::chrono::nanoseconds kLeastDelay = std::chrono::milliseconds(20);
  const auto last = std::ranges::max_element(devices, {}, &ForwardTime::time);
  std::vector<double> other_times, other_rows;
  for (auto d = devices.begin(); d != devices.end(); ++d) {
    if (d == last || d->rows <= 0) continue;
    other_times.push_back(static_cast<double>(d->time.count()));
    other_rows.push_back(static_cast<double>(d->rows));
  }
  if (other_times.empty()) return std::nullopt;
  const double share = static_cast<double>(last->rows) / percentile(other_rows, 0.5);
  const double expected = percentile(other_times, 0.5) * std::max(1.0, share);
  const auto time = static_cast<double>(last->time.count());
  if (time - expected <= static_cast<double>(kLeastDelay.count()) || time <= ratio * expected)
    return std::nullopt;
  return Straggler{last->device, time / expected};
}

}  // namespace tandem::parallel
