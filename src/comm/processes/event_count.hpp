// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace tandem::comm {

/// Counts events, and wakes the threads that wait for the next one. A thread reads the count, looks
/// for what it needs, and waits only while the count stays the same: so it misses nothing.
class EventCount {
 public:
  std::uint64_t count() const noexcept { return count_.load(); }

  void add() noexcept {
    count_.fetch_add(1);
    if (waiting_.load() == 0) return;
    { const std::scoped_lock lock(mutex_); }
    happened_.notify_all();
  }

  /// Returns when the count is not `seen`, or after `most`.
  void wait(std::uint64_t seen, std::chrono::microseconds most) {
    std::unique_lock lock(mutex_);
    waiting_.fetch_add(1);
    happened_.wait_for(lock, most, [&] { return count() != seen; });
    waiting_.fetch_sub(1);
  }

 private:
  std::atomic<std::uint64_t> count_{0};
  std::atomic<int> waiting_{0};
  std::mutex mutex_;  // held by threads from their look at the count until they wait
  std::condition_variable happened_;
};

}  // namespace tandem::comm
