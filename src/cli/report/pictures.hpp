// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include "cli/comparison.hpp"

namespace tandem::cli::report {

/// Devices that are drawn and tabled; of more, the first ones.
constexpr std::size_t kShownDevices = 8;
inline std::size_t shown(const ModeResult& mode) {
  return std::min(kShownDevices, mode.devices.size());
}

/// Of a mode's fullest device.
inline std::size_t largest_peak(const ModeResult& mode) {
  return std::ranges::max(mode.watched().memory.devices, {}, &profile::DeviceMemory::peak).peak;
}

// The parts of the page, each with its pictures, a sentence that says what they show, and their
// numbers. All take a comparison with details.

/// Time, memory, traffic and weights of the modes, side by side.
std::string overview(const Comparison& comparison);
/// What each device holds at its peak, by cause.
std::string memory_at_peak(const Comparison& comparison);
/// What the first device and the fullest other one hold, from moment to moment.
std::string memory_over_time(const Comparison& comparison);
/// What each device does, from moment to moment.
std::string timeline(const Comparison& comparison);
/// How long each device is in each phase.
std::string time_by_phase(const Comparison& comparison);
/// Bytes from each device to each.
std::string traffic(const Comparison& comparison);
/// The losses of the modes, and how far they are from the first mode's.
std::string losses(const Comparison& comparison);

}  // namespace tandem::cli::report
