// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <thread>

#include "stand_in/machine/clock.hpp"

namespace tandem::stand_in {

/// Something that comes to pass when a stream reaches it: each recording of an event has its own.
struct Mark {
  bool done = false;
  int error = 0;  // of the GPU that came to it
  std::chrono::steady_clock::time_point at = {};
  Clock clock = {};  // of what comes before it
};

struct Task {
  std::function<void()> run = nullptr;    // may be empty
  std::shared_ptr<Mark> after = nullptr;  // where set, the task waits for it
  std::shared_ptr<Mark> sets = nullptr;   // where set, done after the task
  const void* owner = nullptr;            // who may take it back before it has run, if anyone
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
  bool is_destroyed = false;                              // its tasks still run
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

  /// Begins another order of tasks.
  void seed(std::uint64_t n);

  CUstream_st* make(int gpu, int level);
  CUstream_st& operator[](std::size_t number) { return streams_[number]; }
  auto begin() { return streams_.begin(); }
  auto end() { return streams_.end(); }
  auto begin() const { return streams_.begin(); }
  auto end() const { return streams_.end(); }
  /// Whether the calling thread may take the stream's work for done.
  static bool is_idle(const CUstream_st& s) {
    return s.tasks.empty() &&
           (s.kernel == std::thread::id() || s.kernel == std::this_thread::get_id());
  }
  /// Work that a thread of a library's puts on streams some time after the call.
  void later(const void* owner, std::function<void()> launch);
  /// Does that for one of them: any, but those of an owner in their order.
  ///
  /// @return  whether there was one.
  bool launch();
  /// Whether all of an owner's work is on its streams.
  bool is_launched(const void* owner) const;
  /// Takes an owner's work back that has not run.
  void drop(const void* owner);
  /// Runs one task, if one can run, or lets that thread do something.
  bool step();
  /// Runs some tasks, as time passes between two questions.
  void pass(const std::function<bool()>& until);
  /// A number below `n`, as the seed has it.
  std::size_t any(std::size_t n) { return random_() % n; }

  /// The error that a GPU stays in; 0: none. A GPU that waits for another one's mark takes it over.
  int& error(int gpu) { return errors_[gpu]; }
  /// Moves the clock of all GPUs on: what they do from here on happens so much later.
  void move_on(std::chrono::milliseconds time) { moved_on_ += time; }

 private:
  struct Launch {
    const void* owner;
    std::function<void()> run;
  };

  std::deque<CUstream_st> streams_;
  std::deque<Launch> launches_;
  std::map<int, int> errors_;  // by GPU
  std::chrono::milliseconds moved_on_{};
  std::mt19937_64 random_;
};

}  // namespace tandem::stand_in
