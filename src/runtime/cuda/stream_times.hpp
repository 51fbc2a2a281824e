// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "tandem/runtime/stream.hpp"

namespace tandem::cuda {

/// A point of a GPU's stream, of which a StreamClock tells the time.
///
/// @cost  some microseconds; events of points that are no more are used again.
class StreamPoint {
 public:
  /// After the stream's work so far. @throws DeviceError
  explicit StreamPoint(const Stream& stream);
  ~StreamPoint();
  StreamPoint(const StreamPoint&) = delete;
  StreamPoint& operator=(const StreamPoint&) = delete;

  CUevent_st* native() const noexcept { return native_; }
  int gpu() const noexcept { return gpu_; }

 private:
  int gpu_;
  CUevent_st* native_;
};

/// After a stream's work so far; null where CUDA refuses: what is timed is not to fail for that.
std::shared_ptr<const StreamPoint> point_of(const Stream& stream) noexcept;

/// When GPUs' streams did something: from when the last of them came to it, to when the last was
/// done with it.
struct StreamTimes {
  std::vector<std::shared_ptr<const StreamPoint>> begin;  ///< null: CUDA refused
  std::vector<std::shared_ptr<const StreamPoint>> end;
};

}  // namespace tandem::cuda
