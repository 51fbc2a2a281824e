// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

namespace tandem::stand_in {

/// A lock that its thread may take again.
///
/// It is none of the C library's, whose locks carry what a thread knows of the GPUs to the next
/// one (HostKnowledge): the machine's own must not.
class Gate {
 public:
  void lock() {
    while (!try_lock())
      taken_.wait(true);
  }
  bool try_lock() {
    const auto self = std::this_thread::get_id();
    if (owner_.load(std::memory_order_relaxed) != self) {
      if (taken_.exchange(true, std::memory_order_acquire)) return false;
      owner_.store(self, std::memory_order_relaxed);
    }
    ++depth_;
    return true;
  }
  void unlock() {
    if (--depth_ > 0) return;
    owner_.store({}, std::memory_order_relaxed);
    taken_.store(false, std::memory_order_release);
    taken_.notify_one();
  }
  /// Lets other threads in for a moment, whatever the depth.
  void rest() {
    const int depth = depth_;
    depth_ = 0;
    owner_.store({}, std::memory_order_relaxed);
    taken_.store(false, std::memory_order_release);
    taken_.notify_one();
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    lock();
    depth_ = depth;
  }

 private:
  std::atomic<bool> taken_ = false;
  std::atomic<std::thread::id> owner_ = {};
  int depth_ = 0;
};

}  // namespace tandem::stand_in
