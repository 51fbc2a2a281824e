// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <vector>

#include "tandem/optim/arena.hpp"

namespace tandem::optim {

/// Devices that update an arena together: each has a copy of it, and updates a part of it, or all.
///
/// A call is made by one thread, which is none of the devices' own, when no other runs.
class ArenaSharing {
 public:
  virtual ~ArenaSharing() = default;

  /// What a device updates: its share of each block, or, by the same gradients as the others, its
  /// copy of all blocks.
  enum class Parts : std::uint8_t { shares, copies };
  virtual Parts parts() const noexcept = 0;
  /// The parts, by block and element, each on the device that updates it; the arena's own first
  /// where they are copies.
  virtual std::vector<ArenaSlice> slices() const = 0;
  /// Brings the gradients to the slices where they were changed on the arena's own device.
  ///
  /// @cost  of n devices, (n-1)/n of the gradients' bytes from the arena's device for shares, n-1
  ///        times all for copies; nothing where they were not changed.
  virtual void share_gradients() = 0;
  /// Runs `part` on the thread of each device; then every device gets the others' values.
  ///
  /// @throws  what a part threw, or Timeout.
  virtual void update(const std::function<std::exception_ptr(Device)>& part) = 0;
};

}  // namespace tandem::optim
