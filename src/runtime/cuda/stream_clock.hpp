// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <memory>

#include "runtime/cuda/stream_times.hpp"

namespace tandem::cuda {

/// When GPUs came to points of their streams, by the host's clock.
///
/// Used by one thread at a time.
class StreamClock {
 public:
  using Moment = std::chrono::steady_clock::time_point;

  /// Learns how a stream's GPU's clock stands to the host's. Waits for the stream's work so far.
  ///
  /// @throws DeviceError
  void calibrate(const Stream& stream);
  bool knows(int gpu) const noexcept { return origins_.contains(gpu); }
  /// Waits until the point, which is of a GPU that it knows, is reached.
  ///
  /// @throws DeviceError, Timeout  of the caller's context.
  Moment at(const StreamPoint& point) const;

 private:
  struct Origin {
    std::unique_ptr<const StreamPoint> point;
    Moment moment;
  };
  std::map<int, Origin> origins_;  // by GPU
};

}  // namespace tandem::cuda
