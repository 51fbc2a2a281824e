// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace tandem::comm {

/// gloo's waits have to have an end. The time-outs are the caller's, who ends them by closing.
inline constexpr auto kForEver = std::chrono::hours(24 * 365);
/// What is sent leaves at once, unless the other process is stopped or its host cannot be reached.
/// Errors that say so are to come within a second of the time-out.
inline constexpr auto kLeaves = std::chrono::milliseconds(700);

}  // namespace tandem::comm
