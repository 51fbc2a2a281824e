// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <vector>

#include "tandem/optim/arena.hpp"

namespace tandem::optim {

/// Devices that update an arena together. Each has a copy of the arena and updates a part of it, or
/// all of it.
///
/// Calls must not overlap, and must not come from the devices' own threads, except that ranks call
/// on theirs.
class ArenaSharing {
 public:
  virtual ~ArenaSharing() = default;

  /// What a device updates: its share of each block, or its copy of all blocks, with the same
  /// gradients as the other devices. With `ranks` the other shares are those of other ranks, each
  /// of which runs this program for its own.
  enum class Parts : std::uint8_t { shares, copies, ranks };
  virtual Parts parts() const noexcept = 0;
  /// The parts, each on the device that updates it. Copies are sorted by device, those of
  /// the arena's own device first; shares have no fixed order.
  virtual std::vector<ArenaSlice> slices() const = 0;
  /// Reduces gradients that have not been reduced yet, and copies those that were changed on the
  /// arena's own device to the slices.
  ///
  /// @cost  With n devices, the copy sends (n-1)/n of the gradients' bytes from the arena's device
  ///        for shares, and n-1 times all of them for copies. Unchanged gradients are not copied.
  virtual void share_gradients() = 0;
  /// Runs `part` on the thread of each device. Then every device gets the values that the others
  /// updated.
  ///
  /// @throws  the error of a part, or Timeout.
  virtual void update(const std::function<std::exception_ptr(Device)>& part) = 0;
  /// The optimizer can make its update. Ranks wait here for each other, so that none updates if
  /// another one cannot. Where there are no ranks, nothing.
  ///
  /// @throws CommAborted  another rank has failed.
  virtual void agree() const {}
  /// Combines a value of all ranks, in place. Collective. Where there are no ranks, nothing.
  enum class OverRanks : std::uint8_t { sum, max };
  virtual void all_reduce(const Tensor& /*value*/, OverRanks /*how*/) const {}
};

}  // namespace tandem::optim
