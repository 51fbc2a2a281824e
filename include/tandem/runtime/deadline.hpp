// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "tandem/runtime/device.hpp"

namespace tandem {

/// When a call counts as hung: none of its devices has begun another piece of work for a while.
///
/// A call that is long but alive never passes it. Thread-safe; copies are one deadline.
class Deadline {
 public:
  /// Never passes.
  Deadline() noexcept = default;
  /// @param patience  between two pieces of work, on any of the devices.
  /// @param devices   none: the time counts from now, whatever is done.
  explicit Deadline(std::chrono::milliseconds patience, const std::vector<Device>& devices = {});

  /// Passes when this one does, or `outer`.
  Deadline within(const Deadline& outer) const;
  /// Work stands still for longer than the patience.
  bool passed() const;
  /// What each device does, for messages: "no piece of work has ended for 300 s: cpu:0 is in
  /// 'linear' for 301 s, cpu:1 ...". "" where it never passes.
  std::string describe() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace tandem
