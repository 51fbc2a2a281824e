// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tandem/profile/overlap.hpp"
#include "tandem/profile/step_record.hpp"

namespace tandem::parallel {

/// What one device did in one step of an explanation.
struct DeviceShare {
  Device device;
  std::size_t works = 0;         ///< pieces of work
  profile::Duration time{};      ///< the time that they took
  std::size_t calls = 0;         ///< calls into collectives; each collective has a start and an end
  profile::Duration in_calls{};  ///< time in collectives: its own work and waiting for others
};

/// What one link carried in one step of an explanation.
struct LinkShare {
  profile::Link link;
  std::size_t nbytes = 0;
  std::size_t transfers = 0;
  profile::Duration time{};  ///< the sum over the transfers
};

/// A step as it was executed.
struct ExplainedStep {
  std::string title;     ///< "Reduce"
  std::string sentence;  ///< what happened, in plain words
  Phase phase = Phase::none;
  std::optional<Category> traffic;  ///< none: the step is work, not traffic
  profile::Duration begin{};
  profile::Duration end{};
  std::vector<DeviceShare> devices;
  std::vector<LinkShare> links;
  std::set<std::string> carriers;  ///< of the bytes between GPUs: "NCCL", "copies", or both
};

/// The rows of the batch that a device worked on, and its time in each phase. For a GPU this is the
/// time of its main stream. In a collective the main stream waits for the side stream, which waits
/// for the other devices.
struct ExplainedDevice {
  Device device;
  RowRange rows = {};  ///< end -1: no rows
  std::array<profile::Duration, kPhases> time{};
  profile::Duration in_collectives{};
  /// The part of in_collectives spent waiting for other devices.
  profile::Duration waiting{};
};

/// The steps of a record: what was executed, in the order in which threads queued it. Steps that
/// did not happen are left out.
struct Explanation {
  std::vector<ExplainedStep> steps;
  std::vector<ExplainedDevice> devices;
  std::map<profile::Link, profile::Traffic> links;
  profile::Duration duration{};
  profile::Overlap overlap;  ///< of transfers and work other than collectives, on any device
  bool complete = true;      ///< see StepRecord
  std::optional<profile::SimulatedMachine> simulated = std::nullopt;  ///< likewise

  /// Numbered sentences, then bytes by link and time by device.
  std::string text() const;
  /// The same as one JSON object, with a "schema_version".
  std::string json() const;
};

}  // namespace tandem::parallel
