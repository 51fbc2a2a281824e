// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/job_group.hpp"

#include <chrono>
#include <utility>

#include "tandem/core/error.hpp"

namespace tandem {

std::exception_ptr outcome(Ticket& ticket, const Deadline& deadline) {
  constexpr auto kLook = std::chrono::milliseconds(20);  // at the deadline
  using Clock = std::chrono::steady_clock;
  while (!ticket.has_ended(Clock::now() + kLook) && !deadline.passed()) {
  }
  try {
    return ticket.outcome(Clock::now());
  } catch (const Timeout& e) {
    throw Timeout(e.what() + (": " + deadline.describe()));
  }
}

JobGroup::JobGroup(std::size_t most, Deadline deadline) : deadline_(std::move(deadline)) {
  tickets_.reserve(most);  // a job without a ticket would be waited for by nobody
}

JobGroup::~JobGroup() {
  for (Ticket& ticket : tickets_) {
    try {
      outcome(ticket, deadline_);
    } catch (...) {  // the exception that ends the scope says more than a deadline that passed
    }
  }
}

void JobGroup::submit(Worker& worker, std::function<void()> job) {
  tickets_.push_back(worker.submit(std::move(job)));
}

std::vector<std::exception_ptr> JobGroup::outcomes() {
  std::vector<std::exception_ptr> errors;
  errors.reserve(tickets_.size());
  for (Ticket& ticket : tickets_)
    errors.push_back(outcome(ticket, deadline_));
  tickets_.clear();
  return errors;
}

}  // namespace tandem
