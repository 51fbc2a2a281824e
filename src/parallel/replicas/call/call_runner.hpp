// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tandem/runtime/worker.hpp"

#include "parallel/replicas/call/call.hpp"

namespace tandem::parallel {

/// Runs the jobs of calls on the devices' threads within a deadline, and collects the exceptions
/// that they throw. After a call that passed its deadline, or an update that failed half-way, the
/// replicas are in an unknown state. Then the runner is poisoned.
///
/// A job that hangs outlives its call, so it must keep alive what it uses.
class CallRunner {
 public:
  using Job = std::function<void(Call::Part& part)>;
  struct Options {
    std::chrono::milliseconds deadline;
    int dim = 0;             ///< the dimension of the batch's rows
    int processes_here = 1;  ///< that share the cores
  };

  CallRunner(std::vector<Device> devices, Options options)
      : devices_(std::move(devices)), options_(options) {}

  /// Runs `job` on each device of the call's group.
  ///
  /// @throws InvalidArgument  a call is running.
  /// @throws ReplicaError     a job failed.
  /// @throws Timeout          the deadline passed; the runner is poisoned.
  void run(const std::shared_ptr<Call>& call, Phase phase, Job job);
  bool is_running() const noexcept { return running_; }
  bool is_usable() const noexcept { return poisoned_.empty(); }
  /// @throws InvalidArgument  the runner is poisoned.
  void check_usable() const;
  void poison(const std::string& reason) { poisoned_ = reason; }
  /// Ends a call whose replicas have failed: resets its groups and throws the first error.
  [[noreturn]] static void raise(Call& call, std::vector<std::exception_ptr> errors);

 private:
  /// The jobs of a call, grouped by the thread that runs them.
  struct Jobs {
    std::vector<std::pair<Call::Part*, Ticket>> tickets;
    Call::Part* own = nullptr;  // the job of the only replica, run by the caller
    Worker* worker = nullptr;   // worker of the calling thread, if it is one of the devices'
    std::vector<std::exception_ptr> errors;  // by device
  };
  /// Gives each device its job. If that fails, only the first ones get theirs, and an error is
  /// stored.
  void submit(Call& call, Phase phase, const Job& attempt, Jobs& jobs) const;
  std::shared_ptr<const Context> context_of(Call& call, Call::Part& part, Phase phase) const;
  /// Waits for all jobs. @throws Timeout  one passed the deadline.
  void collect(Call& call, Jobs& jobs);
  /// Notes that a replica hangs, and frees the others.
  void note_late(Call& call, const Call::Part& part);

  std::vector<Device> devices_;
  Options options_;
  std::atomic<bool> running_{false};
  std::string poisoned_;
};

}  // namespace tandem::parallel
