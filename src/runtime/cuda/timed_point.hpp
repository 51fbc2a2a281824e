// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/gpu/gpu_stream.hpp"
#include "runtime/gpu/stream_times.hpp"

struct CUevent_st;

namespace tandem::cuda {

/// A point by an event of CUDA with a time.
///
/// @cost  a few microseconds; the events of destroyed points are reused.
class TimedPoint final : public StreamPoint {
 public:
  /// The point after the stream's work so far. @throws DeviceError
  TimedPoint(const GpuStream& stream, int gpu);
  ~TimedPoint() override;

  void wait(const char* op) const override;
  float since(const StreamPoint& earlier) const override;

 private:
  CUevent_st* event_;
};

}  // namespace tandem::cuda
