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
  std::int64_t rows = 0;  ///< 0: the device does not count
  std::chrono::nanoseconds time{};
};

/// The slowest device, if it took more than `ratio` times as long as expected from the others, and
/// more than 20 ms longer, so that it is not just chance.
///
/// A device with more rows than the others may take proportionally more time. A device with fewer
/// rows is not expected to take less, because a layer has a fixed cost.
std::optional<Straggler> find_straggler(const std::vector<ForwardTime>& devices, double ratio);

}  // namespace tandem::parallel
