// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "comm/collective_plan.hpp"

namespace tandem::comm {

/// What a rank did last: a ring of its operations, written by the rank's thread and read by any
/// thread.
///
/// Thread-safe. Allocates nothing once the ring is full.
class FlightRecorder {
 public:
  using Moment = std::chrono::steady_clock::time_point;
  static constexpr std::size_t kEntries = 1024;
  enum class State : std::uint8_t { started, completed, failed };

  struct Entry {
    const void* key = nullptr;    ///< the operation
    std::int64_t number = 0;      ///< 0: a message
    std::int64_t generation = 0;  ///< how often the group has been reset before
    Signature signature = {};     ///< of the first collective
    std::size_t collectives = 1;
    std::int64_t count = 0;  ///< elements of this rank's first tensor
    int tag = 0;
    State state = State::started;
    Moment start = {};
    Moment met = {};  ///< when all ranks had arrived
    Moment end = {};
  };

  /// @param entry  its start is set to now.
  void start(Entry entry) noexcept;
  /// Ends the latest entry with that key, if it has not ended.
  void finish(const void* key, State state, Moment met, Moment end) noexcept;
  /// The entries, the oldest first.
  std::vector<Entry> entries() const;

 private:
  mutable std::mutex mutex_;  // guards what follows
  std::vector<Entry> ring_;
  std::size_t count_ = 0;  // entries so far; the next one is stored at count_ modulo kEntries
};

/// "started", "completed", "failed".
const char* name(FlightRecorder::State state) noexcept;

}  // namespace tandem::comm
