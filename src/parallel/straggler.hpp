// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "tandem/parallel/straggler.hpp"

namespace tandem::parallel {

/// How long a device's forward took.
struct ForwardTime {
  Device device;
  std::int64_t rows = 0;  ///< none: it does not count
  std::chrono::nanoseconds time{};
};

/// The device that took the longest, if it took more than `ratio` times as long as the others do,
/// and more than 20 ms longer, which is not by chance.
///
/// More rows may take more time in proportion. Fewer are not asked to take less, because a layer
/// has a cost of its own.
std::optional<Straggler> find_straggler(const std::vector<ForwardTime>& devices, double ratio);

}  // namespace tandem::parallel
