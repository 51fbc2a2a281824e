// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tandem/explain/explain.hpp"
#include "tandem/profile/memory_profile.hpp"

namespace tandem::report {

/// A time in milliseconds.
inline double ms(profile::Duration t) {
  return std::chrono::duration<double, std::milli>(t).count();
}

/// What was seen of a few steps.
struct Recording {
  std::int64_t steps = 0;
  profile::MemoryProfile memory;
  profile::StepRecord record;
  parallel::Explanation time;

  /// Whether everything was recorded.
  bool is_complete() const { return record.complete && memory.complete; }
};

/// Records what some devices do and hold while `run` makes so many steps. Let nothing else run.
Recording record(std::span<const Device> devices,
                 std::int64_t steps,
                 const std::function<void()>& run);

/// How many rows of a batch a device's replica worked on; 0: there was none.
std::int64_t rows_of(const Recording& recording, Device device);

/// What helps, in the words of those who read it.
struct Remedies {
  std::string of_state = "mode=\"sharded\"";  ///< for an optimizer's state on the first device
  std::string of_outputs = "a loss in the replicas";  ///< for gathered outputs there
  std::string of_rounding = "f64";                    ///< to tell rounding from an error
};

/// Sentences on what chunk sizes cannot even out, and on what can. Empty if there is nothing to
/// say.
std::vector<std::string> advice(const profile::MemoryProfile& memory, const Remedies& remedies);

/// Bytes at the peak of the i-th device, by category.
nlohmann::json peak_by_category(const Recording& recording, std::size_t device);
/// Milliseconds of a step, by phase. "waiting" is the time in collectives before the other devices
/// have come; "collectives" is the rest of the time in them.
nlohmann::json ms_by_phase(const Recording& recording, Device device);
/// Bytes of a step by source and destination, and by category.
nlohmann::json links(const Recording& recording);

}  // namespace tandem::report
