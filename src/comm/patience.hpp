// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "tandem/runtime/deadline.hpp"
#include "tandem/runtime/device.hpp"

namespace tandem::comm {

/// How long a rank waits for the others: with the group's timeout, until their devices have not
/// begun any work for that long; with a caller's own, that long, whatever the devices do. In either
/// case no longer than to the deadline of the context.
class Patience {
 public:
  /// @param devices  see Deadline
  explicit Patience(std::chrono::milliseconds timeout, const std::vector<Device>& devices = {})
      : timeout_(timeout), deadline_(timeout, devices) {}

  bool is_over() const;
  /// Notes that it has been seen to be over. @return  whether that was the first time
  bool note_end();
  /// Since it was first seen.
  std::chrono::steady_clock::duration since_end() const {
    return std::chrono::steady_clock::now() - *end_;
  }
  /// "within 0.2 s; no piece of work has ended for 0.2 s".
  std::string describe() const;

 private:
  std::chrono::milliseconds timeout_;
  Deadline deadline_;
  std::optional<std::chrono::steady_clock::time_point> end_;
};

}  // namespace tandem::comm
