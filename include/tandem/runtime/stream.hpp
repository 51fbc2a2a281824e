// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "tandem/runtime/device.hpp"

namespace tandem {

class LogicalDevice;

/// An ordered queue of a device's work.
///
/// A host device's stream runs inline: work is done when `dispatch` returns.
class Stream {
 public:
  explicit Stream(LogicalDevice& device) noexcept : device_(&device) {}
  LogicalDevice& logical_device() const noexcept { return *device_; }
  Device device() const noexcept;
  /// Waits for all work queued so far.
  void synchronize() const noexcept {}

 private:
  LogicalDevice* device_;
};

/// Which of an op's kernels run: all give the same values but for rounding.
enum class KernelPath : std::uint8_t {
  fastest,  ///< a library's where there is one for the type and the machine
  native,   ///< our own, the oracle of the others
};

/// What a host kernel gets: its device, how many threads it may use, and which path it takes.
struct HostStream {
  Device device;
  int threads = 1;
  KernelPath path = KernelPath::fastest;
};

/// A point in a stream that others can wait for; here between host threads.
///
/// Thread-safe: recorded by one thread, waited for by any.
class Event {
 public:
  /// All work of `stream` so far is what is waited for.
  void record(const Stream& stream) noexcept;
  /// Makes it unrecorded again.
  void reset() noexcept { done_.store(false, std::memory_order_release); }
  bool query() const noexcept { return done_.load(std::memory_order_acquire); }
  /// Waits until it is recorded.
  ///
  /// @throws Timeout, CommAborted  by the caller's context (deadline, abort token), naming `op`.
  void wait(const char* op) const;

 private:
  std::atomic<bool> done_{false};
  mutable std::mutex mutex_;  // guards the change of done_ to true against waiters about to park
  mutable std::condition_variable recorded_;
};

}  // namespace tandem
