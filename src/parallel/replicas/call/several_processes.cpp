// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/call/several_processes.hpp"

#include <array>
#include <atomic>
#include <span>
#include <utility>

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/tensor/factories.hpp"
#include "tandem/world/world.hpp"

#include "parallel/replicas/device/same_module.hpp"

// Note [Processes]: a step over several processes is a step of all their devices. The devices of a
// process exchange gradients and values as ever; in between, what one of them has summed up for its
// process is added up over the processes, by the devices of the same index. All else that a step
// has to know of the whole batch (its rows, its weight, who votes) goes over the group of all
// devices, in the same order on each.
namespace tandem::parallel {
namespace {

using tandem::detail::concat;

constexpr const char* kNonFinite[] = {"off", "warn", "error", "skip"};

/// What decides which collectives a step has, and whether it has an effect, by name.
std::vector<std::pair<std::string, std::string>> settings_of(std::size_t devices,
                                                             const DataParallelOptions& o) {
  return {
      {"the number of devices", std::to_string(devices)},
      {"mode", name(o.mode)},
      {"dim", std::to_string(o.dim)},
      {"whole_tensors", std::to_string(static_cast<int>(o.sharding.whole_tensors))},
      {"reshard_after_forward", std::to_string(static_cast<int>(o.sharding.reshard_after_forward))},
      {"prefetch", std::to_string(o.sharding.prefetch.value_or(0))},
      {"non_finite_loss", kNonFinite[static_cast<std::size_t>(o.checks.non_finite_loss)]},
      {"non_finite_gradients", kNonFinite[static_cast<std::size_t>(o.checks.non_finite_gradients)]},
      {"accumulate", std::to_string(o.accumulate)},
      {"first_bucket_nbytes", std::to_string(o.exchange.first_bucket_nbytes)},
      {"bucket_nbytes", std::to_string(o.exchange.bucket_nbytes)},
      {"drift_every", std::to_string(o.checks.drift_every)}};
}

/// Compares the processes' settings. Wrappers are made in the same order in all of them.
void check_settings(std::size_t devices, const DataParallelOptions& options) {
  static std::atomic<std::uint64_t> wrappers{0};
  const world::World& world = *options.world;
  const std::string wrapper = concat("data_parallel/", wrappers.fetch_add(1), '/');
  const auto settings = settings_of(devices, options);
  for (const auto& [what, value] : settings)
    world.store().set(concat(wrapper, world.rank(), '/', what), value);
  for (const world::Peer& peer : world.peers()) {
    for (const auto& [what, value] : settings) {
      const std::string theirs = world.store().get(concat(wrapper, peer.rank, '/', what));
      TANDEM_CHECK(theirs == value,
                   "DataParallel: ",
                   what,
                   " is ",
                   value,
                   " in this process, and ",
                   theirs,
                   " in ",
                   peer.describe(),
                   "; give all processes the same");
    }
  }
}

}  // namespace

SeveralProcesses::SeveralProcesses(const std::vector<Device>& devices,
                                   const DataParallelOptions& options)
    : here_(options.world->launch().local_size) {
  check_settings(devices.size(), options);
  const comm::GroupOptions of_group{
      .timeout = options.deadline, .backend = options.backend, .world = options.world};
  auto all = comm::make_group(devices, of_group);
  for (std::size_t d = 0; d < devices.size(); ++d) {
    auto across = comm::make_group(std::span(&devices[d], 1), of_group);
    ranks_.push_back(std::make_unique<WorldRank>(
        std::move(all[d]), std::move(across.front()), static_cast<int>(d)));
  }
}

void SeveralProcesses::share(ReplicaSource& module,
                             const std::vector<std::shared_ptr<optim::Arena>>& arenas) const {
  const autograd::NoGrad off;
  const ContextScope scope([](Context& c) { c.phase = Phase::replicate; });
  comm::Communicator& first = ranks_.front()->across();
  check_same_module(module, first, "DataParallel");
  for (const auto& arena : arenas)
    for (const Tensor& block : arena->params())
      first.broadcast(block, 0);
}

void SeveralProcesses::enter(Call& call) const {
  call.processes = this;
  for (Call::Part& part : call.parts)
    part.active = part.row_count() > 0;
}

void SeveralProcesses::abort(const std::string& reason) const noexcept {
  ranks_.front()->all().abort(reason);
  for (const auto& rank : ranks_)
    rank->across().abort(reason);
}

void SeveralProcesses::reset() const {
  ranks_.front()->all().reset();
  for (const auto& rank : ranks_) {
    rank->across().reset();
    rank->forget_rows();
  }
}

WholeStep SeveralProcesses::loss_of(const Call& call) const {
  return call.part(0).agreed;
}

std::string SeveralProcesses::failure_of(const Call::Part& part,
                                         const std::exception_ptr& error) const {
  return rank(part).all().describe() + " failed: " + describe(error);
}

WholeBatch SeveralProcesses::exchange(const Call::Part& part,
                                      std::int64_t own,
                                      std::int64_t) const {
  const ContextScope scope([](Context& c) { c.phase = Phase::replicate; });
  return rank(part).exchange(own);
}

std::shared_ptr<RowGroup> SeveralProcesses::row_group(const Call::Part& part,
                                                      const ReplicaGroup&) const {
  return rank(part).row_group();
}

Tensor SeveralProcesses::sum(const Call&, const Call::Part& part, const Tensor& x) const {
  rank(part).all().all_reduce(x);
  return x;
}

void SeveralProcesses::note_used(Call::Part& part, const std::vector<std::uint8_t>& used) const {
  part.used = rank(part).used_anywhere(used);
}

WholeStep SeveralProcesses::agree(const Call::Part& part, const WholeStep& own) const {
  const WholeStep agreed = rank(part).agree(own);
  rank(part).all().barrier();  // all have read it: from here on nobody fails
  return agreed;
}

BucketReducer::Groups SeveralProcesses::groups_of(const Call::Part& part, bool are_alike) const {
  if (are_alike) return {.replicas = &rank(part).all()};
  return {.replicas = part.comm, .processes = &rank(part).across()};
}

comm::Communicator& SeveralProcesses::all(const Call::Part& part) const {
  return rank(part).all();
}

std::vector<std::int64_t> SeveralProcesses::gather(const Call::Part& part,
                                                   const std::vector<std::int64_t>& own) const {
  return rank(part).gather(own);
}

}  // namespace tandem::parallel
