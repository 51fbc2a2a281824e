// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <vector>

#include "tandem/runtime/deadline.hpp"
#include "tandem/runtime/worker.hpp"

namespace tandem {

/// Waits for a job to end, and returns what it threw.
///
/// @throws Timeout  the deadline passed; the job may still run.
std::exception_ptr outcome(Ticket& ticket, const Deadline& deadline);

/// Jobs of several workers that use objects on their caller's stack. Leaving the scope, even by an
/// exception, waits for the jobs that were queued.
///
/// If jobs wait for each other, tell them to stop before you leave the scope early.
class JobGroup {
 public:
  /// @param most      number of jobs that will be queued; all memory is allocated here.
  /// @param deadline  when it has passed, jobs are no longer waited for.
  explicit JobGroup(std::size_t most, Deadline deadline = {});
  ~JobGroup();
  JobGroup(const JobGroup&) = delete;
  JobGroup& operator=(const JobGroup&) = delete;

  /// Asynchronous; see Worker::submit.
  void submit(Worker& worker, std::function<void()> job);
  /// Waits for all jobs.
  ///
  /// @return what each job threw, in the order of submission; nullptr if it succeeded.
  /// @throws Timeout  the deadline passed; that job, or others, may still run.
  std::vector<std::exception_ptr> outcomes();

 private:
  std::vector<Ticket> tickets_;
  Deadline deadline_;
};

}  // namespace tandem
