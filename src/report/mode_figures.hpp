// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>

#include "report/comparison.hpp"

namespace tandem::report {

// What several parts of the page draw of a mode.

/// Devices that are drawn and tabled; of more, the first ones.
constexpr std::size_t kShownDevices = 8;
inline std::size_t shown(const Mode& mode) {
  return std::min(kShownDevices, mode.devices.size());
}

/// The peak of a mode's fullest device.
inline std::size_t largest_peak(const Mode& mode) {
  return std::ranges::max(mode.recording.memory.devices, {}, &profile::DeviceMemory::peak).peak;
}

}  // namespace tandem::report
