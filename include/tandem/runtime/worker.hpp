// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

namespace tandem {

/// Forks that lie between the process that asked first and this one. A thread that was made under
/// another number is not there.
unsigned fork_count() noexcept;

/// The end of a job given to a Worker.
///
/// Copyable; all copies are one job.
class Ticket {
 public:
  /// Waits for the job and rethrows what it threw.
  ///
  /// @throws Timeout  the deadline passed; the job may still run.
  void wait(std::chrono::steady_clock::time_point deadline =
                std::chrono::steady_clock::time_point::max());
  /// Waits as above, but returns what the job threw; nullptr where it ended well.
  ///
  /// Hands the exception over: a second call gives nullptr.
  std::exception_ptr outcome(std::chrono::steady_clock::time_point deadline =
                                 std::chrono::steady_clock::time_point::max());
  /// Waits for the job's end; its outcome stays.
  ///
  /// @return false where it has not ended until then.
  bool has_ended(std::chrono::steady_clock::time_point until);

 private:
  friend class Worker;
  struct State;
  explicit Ticket(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

/// A host thread that runs the jobs of one device in order.
///
/// Thread-safe. A job runs in the context of the thread that submitted it.
class Worker {
 public:
  /// Starts the thread. @param name  of the device, for messages.
  ///
  /// @throws DeviceError  the system gives no thread.
  explicit Worker(std::string name);
  /// Ends after the jobs at hand; a hung job is left behind after a grace time of two seconds, and
  /// those behind it are dropped (their tickets give Timeout).
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Asynchronous: queues `job`.
  ///
  /// @throws InvalidArgument  the thread is in the process that this one was forked from.
  Ticket submit(std::function<void()> job);
  /// Runs the next job now, from inside of one that waits for others; on the worker's own thread.
  /// Groups of jobs enter all queues together (Runtime::hold_queues) and leave them in order, so
  /// they never wait crosswise if each of their waits on a worker's thread runs what is queued.
  ///
  /// @return false where no job is queued.
  bool run_next();
  /// The calling thread is this worker's.
  bool is_current() const noexcept;

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with the thread, which may outlive this object
};

}  // namespace tandem
