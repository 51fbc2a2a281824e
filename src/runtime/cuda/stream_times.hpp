// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "tandem/runtime/stream.hpp"

struct CUevent_st;

namespace tandem::cuda {

/// A point in a GPU's stream. A StreamClock tells when it was reached.
///
/// @cost  a few microseconds; the events of destroyed points are reused.
class StreamPoint {
 public:
  /// The point after the stream's work so far. @throws DeviceError
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

/// The point after a stream's work so far. Null if CUDA refuses, so that timing never makes work
/// fail.
std::shared_ptr<const StreamPoint> point_of(const Stream& stream) noexcept;

/// When GPUs' streams did something: from when the last stream reached it to when the last one
/// finished it.
struct StreamTimes {
  std::vector<std::shared_ptr<const StreamPoint>> begin;  ///< null: CUDA refused
  std::vector<std::shared_ptr<const StreamPoint>> end;
};

}  // namespace tandem::cuda
