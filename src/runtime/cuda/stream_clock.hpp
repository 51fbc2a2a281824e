// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <vector>

#include "tandem/runtime/stream.hpp"

namespace tandem::cuda {

/// When GPUs came to points of their streams, by the host's clock.
///
/// Used by one thread at a time.
class StreamClock {
 public:
  using Moment = std::chrono::steady_clock::time_point;

  StreamClock() = default;
  ~StreamClock();
  StreamClock(const StreamClock&) = delete;
  StreamClock& operator=(const StreamClock&) = delete;

  /// Learns how a stream's GPU's clock stands to the host's. Waits for the stream's work so far.
  ///
  /// @throws DeviceError
  void calibrate(const Stream& stream);
  /// A point after the stream's work so far. @return its number. @throws DeviceError
  /// @cost  some microseconds; where the GPU was not calibrated, a wait for the stream.
  std::size_t mark(const Stream& stream);
  /// Waits until the point is reached. @throws DeviceError, Timeout  of the caller's context.
  Moment at(std::size_t mark) const;
  /// Forgets the marks; their events are used again.
  void clear();

 private:
  struct Event {
    CUevent_st* native;
    int gpu;
  };
  struct Origin {
    CUevent_st* native;
    Moment moment;
  };
  Event take(int gpu);

  std::map<int, Origin> origins_;  // by GPU
  std::vector<Event> marks_;
  std::map<int, std::vector<CUevent_st*>> free_;  // by GPU
};

}  // namespace tandem::cuda
