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

/// Waits for a job's end, and takes what it threw.
///
/// @throws Timeout  the deadline passed; the job may still run.
std::exception_ptr outcome(Ticket& ticket, const Deadline& deadline);

/// Jobs of several workers that use what lies on their caller's stack: whoever leaves the scope,
/// by an exception too, waits for those that were queued.
///
/// Jobs that wait for each other must be told to stop before the scope is left early.
class JobGroup {
 public:
  /// @param most      jobs that will be queued; all memory is taken here.
  /// @param deadline  after it a job is no longer waited for.
  explicit JobGroup(std::size_t most, Deadline deadline = {});
  ~JobGroup();
  JobGroup(const JobGroup&) = delete;
  JobGroup& operator=(const JobGroup&) = delete;

  /// Asynchronous: see Worker::submit.
  void submit(Worker& worker, std::function<void()> job);
  /// Waits for all jobs.
  ///
  /// @return what each threw, in the order of their submission; nullptr where it ended well.
  /// @throws Timeout  the deadline passed; that job, or others, may still run.
  std::vector<std::exception_ptr> outcomes();

 private:
  std::vector<Ticket> tickets_;
  Deadline deadline_;
};

}  // namespace tandem
