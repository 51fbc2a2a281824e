// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "tandem/runtime/device.hpp"

#include "comm/collective_plan.hpp"

namespace tandem::comm {

/// Moves the data of a group's ranks between their GPUs.
///
/// Used by one thread at a time; the engine makes sure of that.
class Transport {
 public:
  virtual ~Transport() = default;
  /// Whether it can move the piece.
  virtual bool takes(const Piece& piece) const = 0;
  /// Queues the pieces on the side streams of the ranks' GPUs. It must take all of them. All that
  /// was aborted or closed before is made again.
  ///
  /// @throws DeviceError, Timeout  what had been queued was aborted.
  virtual void queue(const std::vector<const Piece*>& pieces) = 0;
  /// Ends what hangs, or what has failed: work that is queued and has not ended is dropped.
  virtual void abort() noexcept = 0;
  /// The normal end, when all work that was queued has ended.
  virtual void close() noexcept = 0;
  /// Makes a transport for another group of some of these devices.
  virtual std::shared_ptr<Transport> make(const std::vector<Device>& devices) const = 0;
};

}  // namespace tandem::comm
