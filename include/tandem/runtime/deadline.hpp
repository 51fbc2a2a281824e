// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "tandem/runtime/device.hpp"

namespace tandem {

/// Decides when a call counts as hung: none of its devices has begun another piece of work for a
/// while.
///
/// A call that takes long but makes progress never passes its deadline. Thread-safe. Copies share
/// one deadline.
class Deadline {
 public:
  /// A deadline that never passes.
  Deadline() noexcept = default;
  /// @param patience  the longest time between two pieces of work, on any of the devices.
  /// @param devices   the devices to watch; none: the patience runs from now, whatever is done.
  explicit Deadline(std::chrono::milliseconds patience, const std::vector<Device>& devices = {});

  /// A deadline that passes when this one or `outer` passes.
  Deadline within(const Deadline& outer) const;
  /// Whether work has stood still for longer than the patience.
  bool passed() const;
  /// What each device is doing, for messages: "no piece of work has ended for 300 s: cpu:0 is in
  /// 'linear', or after it, for 301 s, cpu:1 ...". "" for a deadline that never passes.
  std::string describe() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace tandem
