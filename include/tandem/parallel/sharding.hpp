// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

#include "tandem/parallel/unit_policy.hpp"
#include "tandem/runtime/device.hpp"

namespace tandem::parallel {

/// How the parameters, gradients and state of a module are divided among devices: in the modes
/// sharded_gradients and fully_sharded of DataParallel, and in FullyShardedDataParallel.
struct Sharding {
  UnitPolicy units = {};  ///< what is gathered, and given back, together
  /// Gives each whole parameter to one device, instead of a part of each to all. Then an optimizer
  /// that needs whole tensors (LAMB) updates them on all devices. The largest parameters of a unit
  /// come first, each to the device that has least of the unit so far, and the other shares are
  /// padded to the largest one's size.
  bool whole_tensors = false;
  /// Whether a unit's parameters are given back as soon as another unit's are needed, and gathered
  /// anew for the backward. False: they stay until the end of the backward.
  bool reshard_after_forward = true;
  /// How many units are gathered ahead of the one that is used, in the order of the last forward or
  /// backward. Each takes its memory meanwhile. A GPU gathers them on the stream of uploads, beside
  /// its work; a virtual device of DataParallel gathers at once, so it gains nothing. None: 1 in
  /// FullyShardedDataParallel, and 0 in DataParallel.
  std::optional<std::size_t> prefetch = std::nullopt;
  /// A device outside of the group where shares of parameters, gradients and state are kept and
  /// updated: the host's memory (`cpu:9`) for GPUs. Between steps the devices have none of them.
  /// None: each device has its own share.
  std::optional<Device> offload = std::nullopt;
};

}  // namespace tandem::parallel
