// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <functional>
#include <vector>

#include "tandem/optim/arena.hpp"

namespace tandem::optim {

/// Devices that update an arena together: each has a copy of it, and updates a part of its own.
///
/// A call is made by one thread, which is none of the devices' own, when no other runs.
class ArenaSharing {
 public:
  virtual ~ArenaSharing() = default;

  /// The parts, by block and element, each on the device that updates it.
  virtual std::vector<ArenaSlice> slices() const = 0;
  /// Brings the gradients to the slices where they were changed on the arena's own device.
  ///
  /// @cost  (n-1)/n of the gradients' bytes from the arena's device, where they were.
  virtual void share_gradients() = 0;
  /// Runs `part` on the thread of each device; then every device gets the others' values.
  ///
  /// @throws  what a part threw, or Timeout.
  virtual void update(const std::function<std::exception_ptr(Device)>& part) = 0;
};

}  // namespace tandem::optim
