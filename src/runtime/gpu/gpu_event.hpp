// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tandem {

class Stream;

/// A point in a GPU's stream, as the process's GpuBackend has it. See Event.
///
/// Every function throws DeviceError with the call and the code if the GPU refuses.
class GpuEvent {
 public:
  GpuEvent() = default;
  virtual ~GpuEvent() = default;
  GpuEvent(const GpuEvent&) = delete;
  GpuEvent& operator=(const GpuEvent&) = delete;

  /// Moves the point behind the work so far of a stream, which may be another GPU's than before.
  virtual void record(const Stream& stream) = 0;
  virtual bool is_done() const = 0;
  /// The calling thread waits.
  /// @throws Timeout, CommAborted  the context's deadline passed, or the context was aborted.
  virtual void wait(const char* op) const = 0;
  /// Work that the stream gets from now on waits.
  virtual void wait(const Stream& stream) const = 0;
};

}  // namespace tandem
