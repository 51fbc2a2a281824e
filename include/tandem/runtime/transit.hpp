// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

namespace tandem {

enum class Direction : std::uint8_t { read, write, read_write };

/// Bytes of a buffer that are on their way between devices.
struct Transit {
  enum class Way : std::uint8_t {
    in,   ///< from another device: who touches them waits
    out,  ///< to others: who writes them waits
  };
  std::size_t begin = 0;  ///< bytes of the buffer
  std::size_t end = 0;
  Way way = Way::in;
  /// Returns when the device's main stream may touch the bytes. Called until it has returned once.
  std::function<void()> wait;
};

/// What is under way of one buffer. Thread-safe.
class Transits {
 public:
  void add(Transit transit);
  /// Waits for what is in the way of work on bytes [begin, end), and forgets it.
  ///
  /// @throws  what the wait throws; then it is not forgotten.
  void await(std::size_t begin, std::size_t end, Direction direction);
  /// Something may be under way.
  bool any() const noexcept { return any_.load(std::memory_order_acquire); }
  void clear() noexcept;

 private:
  std::recursive_mutex mutex_;  // a wait is work on the same buffer
  std::vector<Transit> list_;
  std::atomic<bool> any_{false};  // written under the mutex
};

}  // namespace tandem
