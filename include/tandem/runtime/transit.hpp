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

/// Bytes of a buffer that are in transit between devices.
struct Transit {
  enum class Way : std::uint8_t {
    in,   ///< coming from another device: any access must wait
    out,  ///< going to other devices: only writes must wait
  };
  std::size_t begin = 0;  ///< bytes [begin, end) of the buffer
  std::size_t end = 0;
  Way way = Way::in;
  /// Returns when the device's main stream may touch the bytes. If it throws, it is called again
  /// later; after it has returned once, it is not called any more.
  std::function<void()> wait;
  /// Whether `wait` would return at once; then the transit may be forgotten without it. Null: it
  /// must be waited for.
  std::function<bool()> has_ended = nullptr;
};

/// The transits of one buffer. Thread-safe.
class Transits {
 public:
  /// Also forgets transits that say that they have ended.
  void add(Transit transit);
  /// Waits for the transits that stand in the way of work on bytes [begin, end), and forgets them.
  ///
  /// @throws  what a wait throws; that transit is then not forgotten.
  void await(std::size_t begin, std::size_t end, Direction direction);
  /// Whether there may be transits.
  bool any() const noexcept { return any_.load(std::memory_order_acquire); }
  void clear() noexcept;

 private:
  std::recursive_mutex mutex_;  // recursive: a wait is work on the same buffer
  std::vector<Transit> list_;
  std::atomic<bool> any_{false};  // written under the mutex
};

}  // namespace tandem
