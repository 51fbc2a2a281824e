// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

namespace tandem {

/// How many forks lie between the process that first called this function and the present process.
/// A thread that started under another number does not exist in this process.
unsigned fork_count() noexcept;

/// A handle to wait for the end of a job given to a Worker.
///
/// Copyable; all copies refer to the same job.
class Ticket {
 public:
  /// Waits for the job and rethrows what it threw, the first time.
  ///
  /// @throws Timeout  the deadline passed; the job may still run.
  void wait(std::chrono::steady_clock::time_point deadline =
                std::chrono::steady_clock::time_point::max());
  /// Waits as above, but returns what the job threw; nullptr if it succeeded.
  ///
  /// Hands the exception over: a second call returns nullptr.
  std::exception_ptr outcome(std::chrono::steady_clock::time_point deadline =
                                 std::chrono::steady_clock::time_point::max());
  /// Waits for the job's end without taking its outcome.
  ///
  /// @return  false if the job has not ended by `until`.
  bool has_ended(std::chrono::steady_clock::time_point until);

 private:
  friend class Worker;
  struct State;
  explicit Ticket(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

/// A host thread that runs the jobs of one device in order.
///
/// Thread-safe. Each job runs in the context of the thread that submitted it.
class Worker {
 public:
  /// Whether observers are told of the jobs (Observer::on_job).
  enum class Jobs : std::uint8_t {
    observed,
    silent,  ///< of a thread that is not a device's: it may run while an observer is being ended
  };
  /// Starts the thread.
  ///
  /// @param name  the device's name, for messages.
  /// @throws DeviceError  the system cannot start a thread.
  explicit Worker(std::string name, Jobs jobs = Jobs::observed);
  /// Waits two seconds at most for the queued jobs to end. After that it leaves a hung job behind
  /// and drops the jobs queued after it, whose tickets give Timeout.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Queues `job` and returns at once.
  ///
  /// @throws InvalidArgument  this process was forked after the thread started, so that the thread
  ///                          is in the parent; or the worker is being destroyed.
  Ticket submit(std::function<void()> job);
  /// Runs the next queued job now. Called on the worker's own thread, by a job that waits for other
  /// jobs. Groups of jobs enter all queues together (Runtime::hold_queues) and leave them in order.
  /// So they never wait for each other in a circle, if every job that waits on a worker's thread
  /// runs the queued ones meanwhile.
  ///
  /// @return  false if no job is queued.
  bool run_next();
  /// Whether the calling thread is this worker's.
  bool is_current() const noexcept;

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with the thread, which may outlive this object
};

}  // namespace tandem
