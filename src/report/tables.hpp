// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "report/recording.hpp"

namespace tandem::report {

/// The mean step of `steps` steps: for each device the time by phase, in collectives, waiting in
/// them for other devices, and idle.
std::string time_table(const parallel::Explanation& time, std::int64_t steps);
/// Memory, time and links as three tables below the name of a mode.
std::string tables(const std::string& mode, const Recording& recording);

}  // namespace tandem::report
