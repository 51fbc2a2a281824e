// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <memory>

#include "runtime/gpu/stream_times.hpp"

namespace tandem {

/// Tells when GPUs reached points in their streams, by the host's clock.
///
/// Used by one thread at a time.
class StreamClock {
 public:
  using Moment = std::chrono::steady_clock::time_point;

  /// Relates the clock of a stream's GPU to the host's. Waits for the stream's work so far.
  ///
  /// @throws DeviceError
  void calibrate(const Stream& stream);
  bool knows(int ordinal) const noexcept { return origins_.contains(ordinal); }
  /// When the point was reached, after waiting for it. The clock must know the point's GPU.
  ///
  /// Ten seconds away from the moment that times count from, the point becomes what they count
  /// from: CUDA tells times as f32 milliseconds, which would be 60 us apart after ten minutes.
  /// @throws DeviceError, Timeout  the timeout of the caller's context.
  Moment at(const std::shared_ptr<const StreamPoint>& point);

 private:
  struct Origin {
    std::shared_ptr<const StreamPoint> point;
    Moment moment;
  };
  std::map<int, Origin> origins_;  // by GPU
};

}  // namespace tandem
