// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>

#include "cli/comparison.hpp"

namespace tandem::cli::report {

// What several parts of the page draw of a mode.

/// Devices that are drawn and tabled; of more, the first ones.
constexpr std::size_t kShownDevices = 8;
inline std::size_t shown(const ModeResult& mode) {
  return std::min(kShownDevices, mode.devices.size());
}

/// Of a mode's fullest device.
inline std::size_t largest_peak(const ModeResult& mode) {
  return std::ranges::max(mode.watched().memory.devices, {}, &profile::DeviceMemory::peak).peak;
}

}  // namespace tandem::cli::report
