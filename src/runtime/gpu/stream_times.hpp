// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "tandem/runtime/stream.hpp"

namespace tandem {

/// A point in a GPU's stream that knows when it was reached. A StreamClock tells it by the host's
/// clock.
///
/// Every function throws DeviceError if the GPU refuses.
class StreamPoint {
 public:
  /// @param ordinal  the GPU's.
  explicit StreamPoint(int ordinal) noexcept : ordinal_(ordinal) {}
  virtual ~StreamPoint() = default;
  StreamPoint(const StreamPoint&) = delete;
  StreamPoint& operator=(const StreamPoint&) = delete;

  int ordinal() const noexcept { return ordinal_; }
  /// The calling thread waits until the point is reached.
  /// @throws Timeout, CommAborted  the context's deadline passed, or the context was aborted.
  virtual void wait(const char* op) const = 0;
  /// Milliseconds between two points of a GPU that have been reached.
  virtual float since(const StreamPoint& earlier) const = 0;

 private:
  int ordinal_;
};

/// The point after a GPU's stream's work so far. Null if the GPU refuses, so that timing never
/// makes work fail.
std::shared_ptr<const StreamPoint> point_of(const Stream& stream) noexcept;

/// When GPUs' streams did something: from when the last stream reached it to when the last one
/// finished it.
struct StreamTimes {
  std::vector<std::shared_ptr<const StreamPoint>> begin;  ///< null: the GPU refused
  std::vector<std::shared_ptr<const StreamPoint>> end;
};

}  // namespace tandem
