// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "tandem/runtime/device.hpp"

#include "comm/plan.hpp"

namespace tandem::comm {

/// What moves the data of a group's ranks between their GPUs.
///
/// Used by one thread at a time: the group sees to it.
class Transport {
 public:
  virtual ~Transport() = default;
  /// It can make the piece.
  virtual bool takes(const Piece& piece) const = 0;
  /// Queues the pieces, all of which it takes, on the side streams of the ranks' GPUs.
  ///
  /// @throws DeviceError, Timeout  what was queued has been ended.
  virtual void queue(const std::vector<const Piece*>& pieces) = 0;
  /// The same for another group, of some of these devices.
  virtual std::shared_ptr<Transport> make(const std::vector<Device>& devices) const = 0;
};

}  // namespace tandem::comm
