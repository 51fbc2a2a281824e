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

/// In milliseconds.
inline double ms(profile::Since t) {
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

/// What chunk sizes cannot even out, and what would: sentences; none where there is nothing to say.
std::vector<std::string> advice(const profile::MemoryProfile& memory);

/// Bytes at the peak of the i-th device, by category.
nlohmann::json peak_by_category(const Details& details, std::size_t device);
/// Milliseconds of a step, by phase; "collectives" are without "waiting", for others to come to
/// them.
nlohmann::json ms_by_phase(const Details& details, Device device);
/// Bytes of a step by source and destination, and by category.
nlohmann::json links(const Details& details);
/// What was seen of `steps` steps: of one, for each device the time by phase, in collectives,
/// waiting in them for others to come, and with nothing to do.
void print_time(const parallel::Explanation& time, std::int64_t steps);
/// All of it as three tables.
void print_details(const std::string& mode, const Details& details);

}  // namespace tandem::cli
