// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tandem/explain/explain.hpp"
#include "tandem/profile/memory_profile.hpp"

#include "cli/trial.hpp"

namespace tandem::cli {

/// A time in milliseconds.
inline double ms(profile::Duration t) {
  return std::chrono::duration<double, std::milli>(t).count();
}

/// What was seen of a few steps of a trial.
struct Details {
  std::int64_t steps = 0;
  profile::MemoryProfile memory;
  profile::StepRecord record;
  parallel::Explanation time;
};

/// Takes some more steps of the trial, and watches all but the first.
Details watch(Trial& trial, std::int64_t steps);

/// Sentences on what chunk sizes cannot even out, and on what can. Empty if there is nothing to
/// say.
std::vector<std::string> advice(const profile::MemoryProfile& memory);

/// Bytes at the peak of the i-th device, by category.
nlohmann::json peak_by_category(const Details& details, std::size_t device);
/// Milliseconds of a step, by phase. "waiting" is the time in collectives before the other devices
/// have come; "collectives" is the rest of the time in them.
nlohmann::json ms_by_phase(const Details& details, Device device);
/// Bytes of a step by source and destination, and by category.
nlohmann::json links(const Details& details);
/// Prints the mean step of `steps` steps: for each device the time by phase, in collectives,
/// waiting in them for other devices, and idle.
void print_time(const parallel::Explanation& time, std::int64_t steps);
/// Prints memory, time and links as three tables.
void print_details(const std::string& mode, const Details& details);

}  // namespace tandem::cli
