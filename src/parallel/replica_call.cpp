// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <numeric>
#include <utility>

#include "tandem/autograd/gradient_source.hpp"
#include "tandem/core/check.hpp"
#include "tandem/parallel/replica_error.hpp"
#include "tandem/runtime/runtime.hpp"

#include "parallel/micro_batches.hpp"
#include "parallel/replica_state.hpp"

namespace tandem::parallel {
namespace {

using Clock = std::chrono::steady_clock;

// For a replica to notice the deadline itself; and for the others, that one has not.
constexpr auto kNoticeGrace = std::chrono::milliseconds(400);
// After which a wait looks at the deadline.
constexpr auto kLook = std::chrono::milliseconds(20);
// After which a wait on a device's thread looks for jobs of that device.
constexpr auto kHelp = std::chrono::milliseconds(1);

/// One call at a time.
class Busy {
 public:
  explicit Busy(std::atomic<bool>& flag) : flag_(flag) {
    TANDEM_CHECK(!flag_.exchange(true),
                 "DataParallel: a call is running already; use one thread at a time, and do not "
                 "call it from inside a replica");
  }
  ~Busy() { flag_.store(false); }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  std::atomic<bool>& flag_;
};

}  // namespace

comm::Communicator* Group::comm_of(int device) const noexcept {
  const auto at = std::ranges::find(ranks, device);
  if (world.empty() || at == ranks.end()) return nullptr;
  return world[static_cast<std::size_t>(at - ranks.begin())].get();
}

void Group::abort(const std::string& reason) noexcept {
  if (!world.empty()) world.front()->abort(reason);
  if (!active.empty()) active.begin()->second->abort(reason);
}

void Group::reset() {
  if (!world.empty()) world.front()->reset();
  if (!active.empty()) active.begin()->second->reset();
}

int first_active(const std::vector<RowRange>& rows) {
  for (int r = 0; r < static_cast<int>(rows.size()); ++r) {
    if (active(rows, r)) return r;
  }
  return -1;
}

bool Call::has_outside() const {
  return std::ranges::any_of(
      outside, [](const auto& own) { return own != nullptr && !own->entries().empty(); });
}

void Call::abort(const std::string& reason) noexcept {
  group->abort(reason);
  for (const MicroBatch& part : micro_batches)
    if (part.group != group) part.group->abort(reason);
}

void Call::reset() {
  group->reset();
  for (const MicroBatch& part : micro_batches)
    if (part.group != group) part.group->reset();
}

Group& ReplicaSet::State::group_for(const std::vector<RowRange>& rows, Members members) {
  std::vector<int> active;
  for (int r = 0; r < static_cast<int>(devices.size()); ++r) {
    if (parallel::active(rows, r)) active.push_back(r);
  }
  // Those without rows have their share too, in mode sharded, or gradients of earlier backwards.
  const bool everyone = members == Members::all || sharing != nullptr || unreduced;
  auto& slot = groups[{active, everyone}];
  if (slot != nullptr) return *slot;
  auto group = std::make_unique<Group>();
  group->ranks = active;
  if (active.empty() || active.front() != 0) group->ranks.insert(group->ranks.begin(), 0);
  if (everyone) {
    group->ranks.resize(devices.size());
    std::iota(group->ranks.begin(), group->ranks.end(), 0);
  }
  const auto devices_of = [&](const std::vector<int>& ranks) {
    std::vector<Device> list;
    for (const int r : ranks)
      list.push_back(devices[static_cast<std::size_t>(r)]);
    return list;
  };
  const comm::GroupOptions comm_options{.timeout = options.deadline, .backend = options.backend};
  if (group->ranks.size() > 1)
    group->world = comm::make_group(devices_of(group->ranks), comm_options);
  if (active.size() > 1) {
    auto comms = comm::make_group(devices_of(active), comm_options);
    for (std::size_t i = 0; i < active.size(); ++i) {
      group->rows[active[i]] = std::make_shared<comm::RowGroupAdapter>(*comms[i]);
      group->active[active[i]] = std::move(comms[i]);
    }
  }
  slot = std::move(group);
  return *slot;
}

std::shared_ptr<Call> ReplicaSet::State::begin_everywhere() {
  return begin(std::vector<RowRange>(devices.size()), Members::all);
}

std::shared_ptr<Call> ReplicaSet::State::begin(const std::vector<RowRange>& rows, Members members) {
  check_module();
  follow_training();
  follow_module();
  auto call = std::make_shared<Call>(rows);
  call->group = &group_for(rows, members);
  if (params[0] != nullptr) {
    call->versions = versions_of(*params[0]);
    call->parameters = params[0]->versions();
  }
  for (const int r : call->group->ranks)
    call->replicate_parameters |= r > 0 && synced[static_cast<std::size_t>(r)] != call->versions;
  if (master_buffers != nullptr) {
    call->buffers = master_buffers->versions();
    const std::vector<std::uint64_t> now = versions_of(*master_buffers);
    for (const int r : call->group->ranks)
      call->replicate_buffers |= buffers_synced[static_cast<std::size_t>(r)] != now;
    call->buffer_versions.resize(devices.size());
  }
  if (options.mode == Mode::classic) {
    call->replicate_parameters = params[0] != nullptr;
    call->replicate_buffers = master_buffers != nullptr;
  }
  return call;
}

std::shared_ptr<Call> ReplicaSet::State::begin_backward(const std::vector<RowRange>& rows) {
  check_module();
  auto call = std::make_shared<Call>(rows);
  call->group = &group_for(rows);
  return call;
}

void ReplicaSet::State::cut(Call& call) {
  for (auto& part : cut_micro_batches(call.rows, devices, options.accumulate)) {
    Group* group = &group_for(part);
    call.micro_batches.push_back({std::move(part), group});
  }
}

Replica ReplicaSet::State::replica(Call& call, int rank) const {
  return {rank,
          devices[static_cast<std::size_t>(rank)],
          call.at[static_cast<std::size_t>(rank)],
          &call.phases[static_cast<std::size_t>(rank)]};
}

std::shared_ptr<const Context> ReplicaSet::State::replica_context(Call& call,
                                                                  int rank,
                                                                  Phase phase) const {
  const auto r = static_cast<std::size_t>(rank);
  auto c = std::make_shared<Context>(context());
  const auto group_of_rows = call.group->rows.find(rank);
  c->phase = phase;
  c->replica = rank;
  c->rows = call.rows[r];
  c->batch_rows = call.batch_rows();
  c->row_dim = options.dim;
  c->checkpoint = nullptr;  // it is the caller's; replicas have their own
  c->outside = call.outside[r] = std::make_shared<autograd::OutsideTensors>(realms[r]);
  c->threads = std::max(1, core_count() / static_cast<int>(call.group->ranks.size()));
  c->frame = call.frames[r] = std::make_shared<ForwardFrame>(
      ForwardFrame{.seed = call.numbers.seed, .forward = call.numbers.forwards});
  c->row_group = group_of_rows == call.group->rows.end() ? nullptr : group_of_rows->second;
  c->deadline = call.deadline;
  return c;
}

void ReplicaSet::State::run(const std::shared_ptr<Call>& call,
                            Phase phase,
                            std::function<void(int rank)> job) {
  const Busy busy(running);
  call->deadline = Deadline(options.deadline, devices).within(context().deadline);
  call->numbers = default_generator().get_state();
  if (const ForwardFrame* first = context().frame.get(); context().recomputes && first != nullptr)
    call->numbers = {.seed = first->seed, .forwards = first->forward};
  const auto shared_job = std::make_shared<std::function<void(int)>>(std::move(job));
  // The job keeps this object.
  const std::function<void(int)> attempt = [this, call, shared_job](int rank) {
    try {
      (*shared_job)(rank);
    } catch (...) {
      if (!reducers.empty()) reducers[static_cast<std::size_t>(rank)].disarm();
      call->transfers[static_cast<std::size_t>(rank)].drop();
      call->abort("replica " + std::to_string(rank) + " failed");
      throw;
    }
  };
  std::vector<std::exception_ptr> errors(devices.size());
  Jobs jobs;
  submit(*call, phase, attempt, jobs, errors);
  for (const int rank : jobs.own) {
    const ContextScope scope(replica_context(*call, rank, phase));
    try {
      attempt(rank);
    } catch (...) {
      errors[static_cast<std::size_t>(rank)] = std::current_exception();
    }
  }
  collect(*call, jobs, errors);
  if (std::ranges::any_of(errors, [](const auto& e) { return e != nullptr; }))
    raise(*call, std::move(errors));
}

void ReplicaSet::State::submit(Call& call,
                               Phase phase,
                               const std::function<void(int rank)>& attempt,
                               Jobs& jobs,
                               std::vector<std::exception_ptr>& errors) const {
  const auto together = Runtime::instance().hold_queues();
  for (const int rank : call.group->ranks) {
    call.phases[static_cast<std::size_t>(rank)].store(phase, std::memory_order_relaxed);
    const Device device = devices[static_cast<std::size_t>(rank)];
    try {
      if (call.group->ranks.size() == 1) {
        jobs.own.push_back(rank);
        continue;
      }
      Worker* worker = &logical_device(device).worker();
      if (worker->is_current()) jobs.worker = worker;
      if (options.mode == Mode::classic && phase == Phase::replicate)
        worker = jobs.started.emplace_back(std::make_unique<Worker>(to_string(device))).get();
      const ContextScope scope(replica_context(call, rank, phase));
      jobs.tickets.emplace_back(rank, worker->submit([attempt, rank] { attempt(rank); }));
    } catch (...) {  // no thread, no memory: those before it must not wait for it
      errors[static_cast<std::size_t>(rank)] = std::current_exception();
      call.abort("replica " + std::to_string(rank) + " could not be started");
      return;
    }
  }
}

void ReplicaSet::State::note_late(Call& call, int rank) {
  const Device device = devices[static_cast<std::size_t>(rank)];
  poison(tandem::detail::concat(device,
                                " passed the deadline of ",
                                options.deadline.count(),
                                " ms in phase ",
                                call.phases[static_cast<std::size_t>(rank)].load(),
                                ", last operation ",
                                logical_device(device).last_work(),
                                ": ",
                                call.deadline.describe()));
  call.abort(poisoned);
}

void ReplicaSet::State::collect(Call& call, Jobs& jobs, std::vector<std::exception_ptr>& errors) {
  bool late = false;
  auto until = Clock::time_point::max();
  for (auto& [rank, ticket] : jobs.tickets) {
    const auto look = [&] { return Clock::now() + (jobs.worker != nullptr ? kHelp : kLook); };
    while (!ticket.has_ended(std::min(until, look())) && Clock::now() < until) {
      // This device's part, and what stood in the queue before it.
      if (jobs.worker != nullptr && jobs.worker->run_next()) continue;
      if (until == Clock::time_point::max() && call.deadline.passed())
        until = Clock::now() + kNoticeGrace;
    }
    if (ticket.has_ended(Clock::now())) {
      errors[static_cast<std::size_t>(rank)] = ticket.outcome();
    } else if (!late) {  // the first one is told; the others may have waited for it
      late = true;
      note_late(call, rank);
      until = Clock::now() + kNoticeGrace;  // the others hear of it
    }
  }
  if (!late) return;
  for (auto& worker : jobs.started)  // their end would be waited for
    late_workers.push_back(std::move(worker));
  throw Timeout("DataParallel: " + poisoned);
}

void ReplicaSet::State::raise(Call& call, std::vector<std::exception_ptr> errors) {
  call.reset();
  std::vector<Replica> replicas;
  std::vector<Phase> phases;
  for (int r = 0; r < static_cast<int>(errors.size()); ++r) {
    replicas.push_back(replica(call, r));
    phases.push_back(call.phases[static_cast<std::size_t>(r)].load());
  }
  throw_replica_error(std::move(errors), replicas, phases);
}

void ReplicaSet::State::poison(const std::string& reason) {
  poisoned = reason;
}

// Note [Versions of replicas]: a replica's tensor has the version of the module's tensor whose
// value it has. So what an earlier forward has saved counts as changed if and only if the module's
// tensor was changed, as on one device, and not because the same value was sent once more.
void ReplicaSet::State::replicate(Call& call, int rank) {
  comm::Communicator* world = call.group->comm_of(rank);
  const auto r = static_cast<std::size_t>(rank);
  in_phase(call, rank, Phase::replicate, [&] {
    if (call.replicate_parameters && world != nullptr) {
      call.transfers[r].broadcast(*params[r], transfers, *world);
      params[r]->set_versions(call.parameters);  // Note [Versions of replicas]
      if (options.mode == Mode::classic) call.transfers[r].finish();
    }
    if (master_buffers == nullptr) return;
    for (std::size_t b = 0; call.replicate_buffers && b < buffers[r]->layout().blocks().size();
         ++b) {
      Tensor block = buffers[r]->params(static_cast<int>(b));
      if (rank == 0) block.copy_(master_buffers->params(static_cast<int>(b)));
      if (world != nullptr) world->broadcast(block, 0);
    }
    if (call.replicate_buffers) buffers[r]->set_versions(call.buffers);
    call.buffer_versions[r] = buffers[r]->versions();
  });
}

void ReplicaSet::State::end_replicate(Call& call, int rank) {
  if (!call.replicate_parameters) return;
  in_phase(call, rank, Phase::replicate, [&] {
    call.transfers[static_cast<std::size_t>(rank)].finish();
  });
}

void ReplicaSet::State::vote(Call& call, int rank) {
  if (comm::Communicator* world = call.group->comm_of(rank)) world->barrier();
}

void ReplicaSet::State::agree(Call& call, int rank) {
  if (rank == 0) call.seal();
  vote(call, rank);
}

void ReplicaSet::State::commit(const Call& call) {
  if (const std::exception_ptr error = call.commit_error()) {
    poison("the update failed after all replicas had agreed to it: " + describe(error));
    std::rethrow_exception(error);
  }
  for (const int r : call.group->ranks)
    synced[static_cast<std::size_t>(r)] = call.versions;
  if (call.shared_update) mark_synced(call);
  const bool drew = std::ranges::any_of(
      call.frames, [](const auto& frame) { return frame != nullptr && frame->drew; });
  if (!context().recomputes && (modules[0]->is_training() || drew))
    default_generator().forwards().fetch_add(1, std::memory_order_relaxed);
  note_buffers(call);
}

}  // namespace tandem::parallel
