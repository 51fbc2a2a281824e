// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/parallel/run_ranks.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "tandem/comm/group.hpp"
#include "tandem/core/check.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/world/error_file.hpp"
#include "tandem/world/world.hpp"

#include "parallel/errors/failures.hpp"

namespace tandem::parallel {
namespace {

using tandem::detail::concat;

/// What the ranks' threads share with the one that waits for them; it may outlive the call.
struct Run {
  std::vector<std::unique_ptr<comm::Communicator>> comms;
  std::function<void(Rank&)> body;
  std::mutex mutex;  // guards what follows
  std::condition_variable changed;
  std::vector<std::shared_ptr<Generator>> generators;  // by rank
  std::vector<std::exception_ptr> errors;              // by rank
  std::vector<bool> ended;                             // by rank
  bool failed = false;

  std::string name(std::size_t r) const { return comms[r]->describe(); }
  bool all_ended() const {
    return std::ranges::all_of(ended, [](bool e) { return e; });
  }
  void end(std::size_t rank, std::exception_ptr error) {
    const std::scoped_lock lock(mutex);
    ended[rank] = true;
    failed |= error != nullptr;
    errors[rank] = std::move(error);
    changed.notify_all();
  }
};

void run_one(Run& run, std::size_t r) {
  std::exception_ptr error;
  try {
    Rank rank(*run.comms[r]);
    run.body(rank);
  } catch (...) {
    error = std::current_exception();
    run.comms[r]->abort(run.name(r) + " failed: " + describe(error));
  }
  run.end(r, error);
}

/// Waits for all; after a failure as long as they go on working. @throws Timeout
void wait_for_all(Run& run, std::span<const Device> devices, std::chrono::milliseconds timeout) {
  constexpr auto kLook = std::chrono::milliseconds(20);
  std::unique_lock lock(run.mutex);
  run.changed.wait(lock, [&] { return run.failed || run.all_ended(); });
  const Deadline deadline(timeout, {devices.begin(), devices.end()});
  const auto all_ended = [&] { return run.all_ended(); };
  while (!run.changed.wait_for(lock, kLook, all_ended) && !deadline.passed()) {
  }
  if (run.all_ended()) return;
  std::string late;
  for (std::size_t r = 0; r < run.ended.size(); ++r) {
    if (run.ended[r]) continue;
    late += concat(late.empty() ? "" : ", ",
                   run.name(r),
                   ", after the operation ",
                   logical_device(run.comms[r]->device()).last_work());
  }
  const std::size_t first = failed_among(run.errors).front();
  throw Timeout(concat("run_ranks: ",
                       run.name(first),
                       " failed: ",
                       describe(run.errors[first]),
                       "; ",
                       late,
                       " did not end within ",
                       timeout.count(),
                       " ms after it: ",
                       deadline.describe()));
}

/// Gives each device its rank. All of them enter the queues together, so that ranks of several
/// calls do not wait for each other crosswise.
///
/// @param processes  that share the cores.
/// @return  the tickets of those that were started.
std::vector<Ticket> submit(const std::shared_ptr<Run>& run,
                           std::span<const Device> devices,
                           int processes) {
  std::vector<Ticket> tickets;
  tickets.reserve(devices.size());
  const auto together = Runtime::instance().hold_queues();
  for (std::size_t r = 0; r < devices.size(); ++r) {
    const ContextScope scope([&](Context& c) {
      c.replica = run->comms[r]->rank();
      c.generator = run->generators[r];
      c.threads = std::max(1, core_count() / static_cast<int>(devices.size()) / processes);
    });
    try {
      tickets.push_back(logical_device(devices[r]).worker().submit([run, r] { run_one(*run, r); }));
    } catch (...) {  // no memory: those before it must not wait for it
      run->comms[r]->abort(run->name(r) + " could not be started");
      for (std::size_t late = r; late < devices.size(); ++late)
        run->end(late, std::current_exception());
      break;
    }
  }
  return tickets;
}

[[noreturn]] void raise(const Run& run) {
  const std::size_t first = cause_among(run.errors);
  std::vector<std::string> others;
  for (const std::size_t r : other_causes(run.errors, first)) {
    others.push_back(concat("rank ",
                            run.comms[r]->rank(),
                            " on ",
                            run.comms[r]->device(),
                            ": ",
                            describe(run.errors[r])));
  }
  try {
    std::rethrow_exception(run.errors[first]);
  } catch (...) {
    throw RankError(run.comms[first]->rank(),
                    run.comms[first]->device(),
                    describe(run.errors[first]),
                    std::move(others));
  }
}

/// Waits for all ranks, and until their threads have told observers that the jobs are done: the
/// caller may end an observer next. @throws RankError, Timeout
void finish(Run& run,
            std::vector<Ticket> tickets,
            std::span<const Device> devices,
            std::chrono::milliseconds timeout) {
  wait_for_all(run, devices, timeout);
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (Ticket& ticket : tickets)
    ticket.wait(deadline);
  run.body = nullptr;  // what it holds ends here, and not later on the thread of some rank
  if (!failed_among(run.errors).empty()) raise(run);
}

}  // namespace

void run_ranks(std::span<const Device> devices,
               std::function<void(Rank&)> body,
               RunRanksOptions options) {
  TANDEM_CHECK(context().rows.end < 0,
               "run_ranks: called inside a replica, whose devices are busy");
  for (const Device d : devices) {
    TANDEM_CHECK(!logical_device(d).worker().is_current(),
                 "run_ranks: called on the thread of ",
                 d,
                 ", from inside a rank; use the existing ranks");
  }
  const auto run = std::make_shared<Run>();
  run->comms = comm::make_group(devices,
                                {.timeout = options.timeout,
                                 .algorithm = std::move(options.algorithm),
                                 .backend = options.backend,
                                 .world = options.world});
  run->body = std::move(body);
  for (std::size_t r = 0; r < devices.size(); ++r) {
    run->generators.push_back(std::make_shared<Generator>());
    run->generators.back()->set_state(default_generator().get_state());
  }
  run->errors.resize(devices.size());
  run->ended.resize(devices.size());
  const int processes = options.world == nullptr ? 1 : options.world->launch().local_size;
  std::vector<Ticket> tickets = submit(run, devices, processes);
  try {
    finish(*run, std::move(tickets), devices, options.timeout);
  } catch (const std::exception& error) {
    if (options.world != nullptr) world::write_error_file(error);
    throw;
  }
  if (!devices.empty()) default_generator().set_state(run->generators.front()->get_state());
}

}  // namespace tandem::parallel
