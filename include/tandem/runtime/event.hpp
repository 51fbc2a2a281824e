// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>

namespace tandem {

class GpuEvent;
class Stream;

/// A point in a stream that other streams and threads can wait for.
///
/// Thread-safe: one thread records it, and any thread may wait for it. It may be recorded again
/// only when nobody waits.
class Event {
 public:
  Event();
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  /// Makes waits wait for all work that `stream` has been given so far.
  ///
  /// @throws DeviceError
  void record(const Stream& stream);
  /// Makes the event unrecorded again.
  void reset() noexcept { recorded_.store(false, std::memory_order_release); }
  /// Whether the event is recorded and the work before it is done.
  bool query() const;
  /// Waits until the event is recorded and the work before it is done.
  ///
  /// @throws Timeout, CommAborted  the caller's context ends the wait (deadline, abort token); the
  ///                               text names `op`.
  void wait(const char* op) const;
  /// Makes work that `stream` gets from now on wait for the event. The calling thread waits only
  /// until the event is recorded; if `stream` is the host's, it waits as above.
  void wait(const Stream& stream, const char* op) const;

 private:
  void wait_recorded(const char* op) const;

  std::atomic<bool> recorded_{false};
  std::unique_ptr<GpuEvent> native_;  // null for a host stream; written before recorded_
  mutable std::mutex
      mutex_;  // held while recorded_ becomes true, so that a waiter about to park notices
  mutable std::condition_variable changed_;
};

}  // namespace tandem
