// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/call/call_runner.hpp"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "tandem/autograd/tape_context.hpp"
#include "tandem/core/check.hpp"
#include "tandem/runtime/interrupt.hpp"
#include "tandem/runtime/runtime.hpp"

#include "autograd/outside_tensors.hpp"
#include "parallel/errors/failures.hpp"
#include "parallel/replicas/call/processes.hpp"

namespace tandem::parallel {
namespace {

using Clock = std::chrono::steady_clock;

// For a replica to notice the deadline itself; and for the others, that one has not.
constexpr auto kNoticeGrace = std::chrono::milliseconds(400);
// After which a wait looks at the deadline.
constexpr auto kLook = std::chrono::milliseconds(20);
// After which a wait on a device's thread looks for jobs of that device.
constexpr auto kHelp = std::chrono::milliseconds(1);
// For the cause of a failure to become known.
constexpr auto kCauseFirst = std::chrono::milliseconds(200);

/// One call at a time.
class Busy {
 public:
  explicit Busy(std::atomic<bool>& flag) : flag_(flag) {
    TANDEM_CHECK(!flag_.exchange(true),
                 "DataParallel: another call is running; use one thread at a time, and do not "
                 "call the wrapper from inside a replica");
  }
  ~Busy() { flag_.store(false); }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  std::atomic<bool>& flag_;
};

/// How the jobs of a run end, so that the other processes are told of a cause before its
/// consequences: a replica that fails stops the others as it gives up its collectives, which may be
/// before it can say why.
class JobEnds {
 public:
  explicit JobEnds(std::size_t jobs) : running_(jobs) {}

  void note_end() noexcept { --running_; }
  void note_cause() noexcept { cause_is_known_ = true; }
  /// As a consequence, or until there is no job left that could be the cause.
  void end_after_cause() noexcept {
    note_end();
    const auto end = Clock::now() + kCauseFirst;
    while (!cause_is_known_ && running_ > 0 && Clock::now() < end)
      std::this_thread::yield();
  }

 private:
  std::atomic<bool> cause_is_known_{false};
  std::atomic<std::size_t> running_;
};

/// Where the random numbers of a call begin: a checkpoint's second run has those of the first.
GeneratorState numbers_of_call() {
  if (const ForwardFrame* first = context().frame.get(); context().recomputes && first != nullptr)
    return {.seed = first->seed, .forwards = first->forward};
  return default_generator().get_state();
}

}  // namespace

void CallRunner::check_usable() const {
  TANDEM_CHECK(poisoned_.empty(),
               "DataParallel: the replicas are in an unknown state because ",
               poisoned_,
               "; restore the checkpoint and wrap the module again");
}

std::shared_ptr<const Context> CallRunner::context_of(Call& call,
                                                      Call::Part& part,
                                                      Phase phase) const {
  auto c = std::make_shared<Context>(context());
  c->phase = phase;
  c->replica = part.index();
  c->rows = part.rows;
  c->batch_rows = call.batch.size();
  c->row_dim = options_.dim;
  part.outside = std::make_shared<autograd::OutsideTensors>(part.replica->realm());
  autograd::change_tape_context(*c, [&](autograd::TapeContext& t) {
    t.checkpoint = nullptr;  // it is the caller's; replicas have their own
    t.outside = part.outside;
    t.row_group = call.group.row_group_of(part.index());
  });
  c->threads = std::max(1, core_count() / call.working() / options_.processes_here);
  c->frame = part.frame = std::make_shared<ForwardFrame>(
      ForwardFrame{.seed = call.numbers.seed, .forward = call.numbers.forwards});
  c->deadline = call.deadline;
  c->abort = call.stop;
  return c;
}

void CallRunner::run(const std::shared_ptr<Call>& call, Phase phase, Job job) {
  const Busy busy(running_);
  call->deadline = Deadline(options_.deadline, devices_).within(context().deadline);
  call->numbers = numbers_of_call();
  const auto shared_job = std::make_shared<Job>(std::move(job));
  const auto ends = std::make_shared<JobEnds>(call->group.members().size());
  const Job attempt = [call, shared_job, ends](Call::Part& part) {
    try {
      (*shared_job)(part);
      ends->note_end();
    } catch (...) {
      const std::exception_ptr error = std::current_exception();
      part.replica->disarm();
      part.broadcast.drop();
      if (is_secondary(error) && call->processes->are_several()) ends->end_after_cause();
      call->abort(call->processes->failure_of(part, error));
      ends->note_cause();
      throw;
    }
  };
  Jobs jobs;
  jobs.errors.resize(call->parts.size());
  submit(*call, phase, attempt, jobs);
  if (jobs.own != nullptr) {
    const ContextScope scope(context_of(*call, *jobs.own, phase));
    try {
      attempt(*jobs.own);
    } catch (...) {
      jobs.errors[static_cast<std::size_t>(jobs.own->index())] = std::current_exception();
    }
  }
  collect(*call, jobs);
  if (std::ranges::any_of(jobs.errors, [](const auto& e) { return e != nullptr; }))
    raise(*call, std::move(jobs.errors));
}

void CallRunner::submit(Call& call, Phase phase, const Job& attempt, Jobs& jobs) const {
  const auto together = Runtime::instance().hold_queues();
  for (const int device : call.group.members()) {
    Call::Part& part = call.part(device);
    part.phase.store(phase, std::memory_order_relaxed);
    try {
      if (call.group.members().size() == 1 && InterruptScope::current() == nullptr) {
        jobs.own = &part;
        continue;
      }
      Worker& worker = logical_device(part.device()).worker();
      if (worker.is_current()) jobs.worker = &worker;
      const ContextScope scope(context_of(call, part, phase));
      jobs.tickets.emplace_back(&part, worker.submit([attempt, &part] { attempt(part); }));
    } catch (...) {  // no thread, no memory: those before it must not wait for it
      jobs.errors[static_cast<std::size_t>(device)] = std::current_exception();
      call.abort("replica " + std::to_string(device) + " could not be started");
      return;
    }
  }
}

void CallRunner::note_late(Call& call, const Call::Part& part) {
  poison(tandem::detail::concat(part.device(),
                                " passed the deadline of ",
                                options_.deadline.count(),
                                " ms in phase ",
                                part.phase.load(),
                                ", after the operation ",
                                logical_device(part.device()).last_work(),
                                ": ",
                                call.deadline.describe()));
  call.abort(poisoned_);
}

void CallRunner::collect(Call& call, Jobs& jobs) {
  bool late = false;
  auto until = Clock::time_point::max();
  for (auto& [part, ticket] : jobs.tickets) {
    const auto look = [&] { return Clock::now() + (jobs.worker != nullptr ? kHelp : kLook); };
    while (!ticket.has_ended(std::min(until, look())) && Clock::now() < until) {
      if (InterruptScope* const scope = InterruptScope::current(); scope && scope->wants_stop())
        call.cancel("the caller was interrupted");
      // This device's part, and what stood in the queue before it.
      if (jobs.worker != nullptr && jobs.worker->run_next()) continue;
      if (until == Clock::time_point::max() && call.deadline.passed())
        until = Clock::now() + kNoticeGrace;
    }
    if (ticket.has_ended(Clock::now())) {
      jobs.errors[static_cast<std::size_t>(part->index())] = ticket.outcome();
    } else if (!late) {  // the first one is told; the others may have waited for it
      late = true;
      note_late(call, *part);
      until = Clock::now() + kNoticeGrace;  // the others hear of it
    }
  }
  if (late) throw Timeout("DataParallel: " + poisoned_);
}

void CallRunner::raise(Call& call, std::vector<std::exception_ptr> errors) {
  call.reset();
  std::vector<Replica> replicas;
  std::vector<Phase> phases;
  for (Call::Part& part : call.parts) {
    replicas.push_back(part.argument());
    phases.push_back(part.phase.load());
  }
  throw_replica_error(std::move(errors), replicas, phases);
}

}  // namespace tandem::parallel
