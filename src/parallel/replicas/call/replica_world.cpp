// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/call/replica_world.hpp"

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

int first_idle_process(const ForwardRows& told, int devices_of_each) {
  const int processes = static_cast<int>(told.rows.size()) / devices_of_each;
  for (int process = 0; process < processes; ++process) {
    bool is_active = false;
    for (int d = 0; d < devices_of_each; ++d)
      is_active |= told.is_active(process * devices_of_each + d);
    if (!is_active) return process;
  }
  return -1;
}

}  // namespace

WorldRank::WorldRank(std::unique_ptr<comm::Communicator> all,
                     std::unique_ptr<comm::Communicator> across,
                     int index)
    : all_(std::move(all)),
      across_(std::move(across)),
      first_here_(all_->rank() - index),
      rows_(std::make_unique<RankRows>(*all_)) {}

WholeBatch WorldRank::exchange(std::int64_t rows) {
  const autograd::NoGrad off;
  const ForwardRows told = rows_->exchange(rows > 0 ? rows : -1, GradientSync::on);
  WholeBatch whole{.rows = told.all_rows(), .first = told.first_active()};
  for (int r = 0; r < first_here_; ++r)
    if (told.is_active(r)) whole.before += told.rows[static_cast<std::size_t>(r)];
  whole.idle_process = first_idle_process(told, all_->size() / across_->size());
  if (whole.first >= 0) rows_->regroup(told);
  return whole;
}

std::vector<std::uint8_t> WorldRank::used_anywhere(const std::vector<std::uint8_t>& used) const {
  const autograd::NoGrad off;
  const Tensor x = from_host(std::span<const std::uint8_t>(used),
                             {static_cast<std::int64_t>(used.size())},
                             all_->device());
  all_->all_reduce(x, comm::ReduceOp::max);
  return x.to_host<std::uint8_t>();
}

WholeStep WorldRank::agree(const WholeStep& own) const {
  const autograd::NoGrad off;
  const std::array<double, 3> values{own.sum, own.weight, own.has_no_effect ? 1.0 : 0.0};
  const Tensor x = from_host(std::span<const double>(values), {3}, all_->device());
  all_->all_reduce(x);
  const std::vector<double> sums = x.to_doubles();
  return {sums[0], sums[1], sums[2] != 0};
}

ReplicaWorld::ReplicaWorld(const std::vector<Device>& devices, const DataParallelOptions& options)
    : processes_here_(options.world->launch().local_size) {
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

void ReplicaWorld::share(ReplicaSource& module,
                         const std::vector<std::shared_ptr<optim::Arena>>& arenas) const {
  const autograd::NoGrad off;
  const ContextScope scope([](Context& c) { c.phase = Phase::replicate; });
  comm::Communicator& first = ranks_.front()->across();
  check_same_module(module, first, "DataParallel");
  for (const auto& arena : arenas) {
    for (std::size_t b = 0; arena != nullptr && b < arena->layout().blocks().size(); ++b)
      first.broadcast(arena->params(static_cast<int>(b)), 0);
  }
}

void ReplicaWorld::abort(const std::string& reason) const noexcept {
  ranks_.front()->all_->abort(reason);
  for (const auto& rank : ranks_)
    rank->across_->abort(reason);
}

// Some processes may have made groups of their rows since the last common step, and others not.
void ReplicaWorld::reset() const {
  ranks_.front()->all_->reset();
  for (const auto& rank : ranks_) {
    rank->across_->reset();
    rank->rows_ = std::make_unique<RankRows>(*rank->all_);
  }
}

}  // namespace tandem::parallel
