// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <thread>

#include "stand_in/machine/clock.hpp"

namespace tandem::stand_in {

/// Something that comes to pass when a stream reaches it: each recording of an event has its own.
struct Mark {
  bool done = false;
  std::chrono::steady_clock::time_point at = {};
  Clock clock = {};  // of what comes before it
};

struct Task {
  std::function<void()> run = nullptr;    // may be empty
  std::shared_ptr<Mark> after = nullptr;  // where set, the task waits for it
  std::shared_ptr<Mark> sets = nullptr;   // where set, done after the task
};

}  // namespace tandem::stand_in

// CUDA's names for its handles.
struct CUstream_st {
  int gpu;
  std::size_t number;
  int level;               // CUDA's priority, which makes no promise
  std::uint64_t priority;  // in the order of tasks
  std::deque<tandem::stand_in::Task> tasks = {};
  std::uint64_t given = 0;                                // tasks so far
  tandem::stand_in::Clock clock = {};                     // of the last one
  std::shared_ptr<const tandem::stand_in::Clock> host{};  // what it has last taken from the host
  std::thread::id kernel = {};                            // the thread that runs one, if any
};

struct CUevent_st {
  int gpu;
  bool is_timed;
  std::shared_ptr<tandem::stand_in::Mark> mark = nullptr;  // of the last recording, if any
};

namespace tandem::stand_in {

/// Streams, whose tasks wait until someone asks for a result, and then run against those of other
/// streams in an order that a seed decides.
class Streams {
 public:
  explicit Streams(std::uint64_t seed) : random_(seed) {}

  CUstream_st* make(int gpu, int level);
  CUstream_st& operator[](std::size_t number) { return streams_[number]; }
  auto begin() { return streams_.begin(); }
  auto end() { return streams_.end(); }
  /// Whether the calling thread may take the stream's work for done.
  static bool is_idle(const CUstream_st& s) {
    return s.tasks.empty() &&
           (s.kernel == std::thread::id() || s.kernel == std::this_thread::get_id());
  }
  /// Runs one task, if one can run.
  bool step();
  /// Runs some tasks, as time passes between two questions.
  void pass(const std::function<bool()>& until);

 private:
  std::deque<CUstream_st> streams_;
  std::mt19937_64 random_;
};

}  // namespace tandem::stand_in
