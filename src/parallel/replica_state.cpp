// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replica_state.hpp"

#include <algorithm>
#include <array>

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/runtime/runtime.hpp"

#include "autograd/leaf_hooks.hpp"
#include "parallel/check_unwrapped.hpp"
#include "parallel/copies.hpp"
#include "parallel/shards.hpp"

namespace tandem::parallel {

namespace {

constexpr WrapperWords kWords{
    "DataParallel",
    "use that DataParallel, or end it and the results of its calls first",
    "Wrap a clone (nn::clone), or end that DataParallel and the results of its calls first"};

constexpr std::array<std::string_view, 4> kModes{"classic", "server", "sharded", "ddp"};

ReduceTo reduce_to(Mode mode) noexcept {
  constexpr std::array kTo{
      ReduceTo::rank_0_at_end, ReduceTo::rank_0, ReduceTo::shares, ReduceTo::all};
  return kTo[static_cast<std::size_t>(mode)];
}

}  // namespace

const char* name(Mode mode) noexcept {
  return kModes[static_cast<std::size_t>(mode)].data();
}

std::optional<Mode> parse_mode(std::string_view name) noexcept {
  const auto at = std::ranges::find(kModes, name);
  if (at == kModes.end()) return std::nullopt;
  return static_cast<Mode>(at - kModes.begin());
}

ChunkPolicy chunk_policy(const DataParallelOptions& options) {
  const int given = int{options.chunks.has_value()} + int{!options.chunk_sizes.empty()} +
                    int{options.gpu0_bsz.has_value()};
  TANDEM_CHECK(
      given <= 1, "DataParallel: give one of chunks, chunk_sizes and gpu0_bsz, not ", given);
  if (options.gpu0_bsz) return ChunkPolicy::gpu0(*options.gpu0_bsz);
  if (!options.chunk_sizes.empty()) return ChunkPolicy::sizes(options.chunk_sizes);
  return options.chunks.value_or(ChunkPolicy::even());
}

ReplicaSet::State::State(std::vector<nn::Module*> m,
                         std::vector<Device> d,
                         const DataParallelOptions& o)
    : modules(std::move(m)), devices(std::move(d)), options(o), policy(chunk_policy(o)) {
  TANDEM_CHECK(options.accumulate >= 1,
               "DataParallel: accumulate is ",
               options.accumulate,
               "; a step has one micro-batch or more");
  TANDEM_CHECK(options.bitwise_leaves >= 0,
               "DataParallel: bitwise_leaves is ",
               options.bitwise_leaves,
               "; it is 0 (off) or the number of leaves");
  TANDEM_CHECK(options.bitwise_leaves == 0 ||
                   (!policy.wants_model() && options.on_oom == OnOutOfMemory::error),
               "DataParallel: with bitwise_leaves a device takes one leaf after the other, so that "
               "its rows do not tell its memory; leave planned chunks and on_oom = replan out");
  TANDEM_CHECK(options.straggler_ratio >= 1,
               "DataParallel: straggler_ratio is ",
               options.straggler_ratio,
               "; a straggler takes longer than the others: give more than 1");
  TANDEM_CHECK(options.check_drift_every >= 0,
               "DataParallel: check_drift_every is ",
               options.check_drift_every,
               "; give a number of steps, or 0 for never");
  policy.plan(
      0, devices);  // a policy for another number of devices is refused now, not at the first batch
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const auto again =
        std::find(devices.begin() + static_cast<std::ptrdiff_t>(i) + 1, devices.end(), devices[i]);
    TANDEM_CHECK(again == devices.end(), "DataParallel: ", devices[i], " is listed twice");
  }
  // A backend that these devices cannot have is refused now, too.
  if (options.backend != comm::Backend::local)
    group_for(std::vector<RowRange>(devices.size()), Members::all);
  nn::visit_tensors(*modules[0], [&](const std::string& name, Tensor& x, nn::TensorKind) {
    TANDEM_CHECK(x.device() == devices[0],
                 "DataParallel: '",
                 name,
                 "' is on ",
                 x.device(),
                 ", the first device is ",
                 devices[0],
                 "; call module.to(...) first");
  });
  check_unwrapped(*modules[0], kWords);
  for (std::size_t r = 0; r < devices.size(); ++r)
    realms.push_back(Runtime::instance().next_sequence() + 1);
  bind_parameters();
  bind_buffers();
  bind_buffer_rules();
  set_hooks();
  note_module();
}

void ReplicaSet::State::bind_parameters() {
  std::vector<optim::ArenaEntry> entries;
  for (const nn::NamedTensor& p : modules[0]->named_parameters())
    entries.push_back({p.name, p.tensor});
  params.resize(devices.size());
  synced.resize(devices.size());
  if (entries.empty()) return;
  params[0] = optim::Arena::obtain(std::move(entries), {});
  const auto buckets = std::make_shared<const std::vector<Bucket>>(
      plan_buckets(params[0]->layout(), options.first_bucket_nbytes, options.bucket_nbytes));
  transfers =
      plan_transfers(params[0]->layout(), options.first_bucket_nbytes, options.bucket_nbytes);
  for (std::size_t r = 0; r < devices.size(); ++r) {
    if (r > 0) {
      const optim::ArenaReplica replica = params[0]->replicate(devices[r]);
      params[r] = replica.arena;
      place_tensors(static_cast<int>(r), *params[0], replica);
    }
    reducers.emplace_back(params[r], buckets, reduce_to(options.mode));
  }
  if (devices.size() > 1 && !buckets->empty()) bind_sharing(buckets);
}

void ReplicaSet::State::bind_sharing(const std::shared_ptr<const std::vector<Bucket>>& buckets) {
  const UpdateSharing::OnDevices on_devices = [this](const std::function<void(int)>& part) {
    update_everywhere(part);
  };
  const auto reduce = [this] { sync_gradients(); };
  if (options.mode == Mode::sharded)
    sharing = std::make_shared<Shards>(params, buckets, on_devices, reduce);
  else if (options.mode == Mode::ddp)
    sharing = std::make_shared<Copies>(params, buckets, on_devices, reduce);
  if (sharing != nullptr) params[0]->share(sharing);
}

void ReplicaSet::State::bind_buffers() {
  buffers_synced.resize(devices.size());
  std::vector<optim::ArenaEntry> entries;
  for (const nn::NamedTensor& b : modules[0]->named_buffers())
    entries.push_back({b.name, b.tensor});
  if (entries.empty()) return;
  master_buffers = optim::Arena::obtain(std::move(entries), {.category = Category::buffer});
  for (std::size_t p = 0; p < master_buffers->layout().places().size(); ++p) {
    own_buffers.push_back(master_buffers->tensor(p));
  }
  for (std::size_t r = 0; r < devices.size(); ++r) {
    const optim::ArenaReplica replica = master_buffers->replicate(devices[r]);
    buffers.push_back(replica.arena);
    if (r > 0) {
      place_tensors(static_cast<int>(r), *master_buffers, replica);
    } else {
      private_buffers = replica.tensors;
    }
  }
}

void ReplicaSet::State::place_tensors(int rank,
                                      const optim::Arena& original,
                                      const optim::ArenaReplica& replica) {
  std::vector<std::optional<std::size_t>> places;  // of the module's tensors, in their order
  nn::visit_tensors(*modules[0], [&](const std::string&, Tensor& x, nn::TensorKind) {
    places.push_back(original.place_of(x));
  });
  auto place = places.begin();
  nn::visit_tensors(*modules[static_cast<std::size_t>(rank)],
                    [&](const std::string&, Tensor& x, nn::TensorKind) {
                      if (*place) x = replica.tensors[**place];
                      ++place;
                    });
}

void ReplicaSet::State::show_buffers(const std::vector<Tensor>& tensors) {
  if (master_buffers == nullptr) return;
  nn::visit_tensors(*modules[0], [&](const std::string&, Tensor& x, nn::TensorKind) {
    auto place = master_buffers->place_of(x);
    if (!place) place = buffers[0]->place_of(x);
    if (place) x = tensors[*place];
  });
}

void ReplicaSet::State::set_hooks() {
  for (std::size_t r = 0; r < reducers.size(); ++r) {
    for (std::size_t place = 0; place < params[r]->layout().places().size(); ++place) {
      const Tensor x = params[r]->tensor(place);
      if (!x.requires_grad()) continue;
      autograd::mark_realm(x, realms[r]);
      autograd::set_part_hook(
          x, [reducer = &reducers[r], place](const Tensor&) { reducer->on_gradient(place); });
    }
  }
}

void ReplicaSet::State::clear_hooks() noexcept {
  if (!params.empty() && params[0] != nullptr) {
    try {
      complete_gradients();
    } catch (...) {  // gradients stay as they lie: the device is lost, and whoever uses it will
                     // hear of it
    }
  }
  for (const auto& arena : params) {
    for (std::size_t p = 0; arena != nullptr && p < arena->layout().places().size(); ++p)
      if (const Tensor x = arena->tensor(p); x.defined()) autograd::set_part_hook(x, nullptr);
  }
}

}  // namespace tandem::parallel
