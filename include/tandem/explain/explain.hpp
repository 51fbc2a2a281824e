// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tandem/profile/step_record.hpp"

namespace tandem::parallel {

/// What one device did in a step of an explanation.
struct DeviceShare {
  Device device;
  std::size_t works = 0;      ///< pieces of work
  profile::Since time{};      ///< that they took
  std::size_t calls = 0;      ///< into collectives: a start and an end each
  profile::Since in_calls{};  ///< time in them: for its part of the work, and for the others
};

/// What went over one link in a step of an explanation.
struct LinkShare {
  profile::Link link;
  std::size_t nbytes = 0;
  std::size_t transfers = 0;
  profile::Since time{};  ///< the sum of theirs
};

/// A step as it was executed.
struct ExplainedStep {
  std::string title;     ///< "Reduce"
  std::string sentence;  ///< what happened, in plain words
  Phase phase = Phase::none;
  std::optional<Category> traffic;  ///< none: work
  profile::Since begin{};
  profile::Since end{};
  std::vector<DeviceShare> devices;
  std::vector<LinkShare> links;
};

/// Rows of the batch that a device worked on, and what it did in each phase; a GPU, what its main
/// stream did: in a collective it waits for its side stream, which waits for the others.
struct ExplainedDevice {
  Device device;
  RowRange rows = {};  ///< end -1: none
  std::array<profile::Since, kPhases> time{};
  profile::Since in_collectives{};
  /// Of this, with none of its own bytes under way: for the others to come.
  profile::Since waiting{};
};

/// The steps of a record: what was executed, in the order in which it was called. A step that did
/// not happen is not there.
struct Explanation {
  std::vector<ExplainedStep> steps;
  std::vector<ExplainedDevice> devices;
  std::map<profile::Link, profile::Traffic> links;
  profile::Since duration{};
  profile::Overlap overlap;  ///< of transfers with work other than collectives, on any device
  bool complete = true;      ///< see StepRecord

  /// Numbered sentences, then bytes by link and time by device.
  std::string text() const;
  /// The same as one JSON object, with a "schema_version".
  std::string json() const;
};

/// Explains what was recorded.
Explanation explain(const profile::StepRecord& record);

/// Explains what `step()` executes.
///
///     const auto why = parallel::explain([&] { dp.step(batch, loss, &optimizer); });
///     std::cout << why.text();
///
/// Or `loss(dp(x), y).backward(); optimizer.step();` in the braces. The record has what all threads
/// do meanwhile, so let nothing else run.
template <std::invocable F>
Explanation explain(F&& step) {
  return explain(profile::record(std::forward<F>(step)));
}

}  // namespace tandem::parallel
