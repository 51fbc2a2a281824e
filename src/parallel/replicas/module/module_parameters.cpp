// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/module/module_parameters.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "parallel/reduce/parameter_hooks.hpp"

namespace tandem::parallel {

void place_tensors(ReplicaSource& original,
                   const optim::Arena& arena,
                   ReplicaSource& copy,
                   const std::vector<Tensor>& tensors) {
  std::vector<std::optional<std::size_t>> places;  // of the original's tensors, in their order
  original.visit_tensors(
      [&](const std::string&, Tensor& x, nn::TensorKind) { places.push_back(arena.place_of(x)); });
  auto place = places.begin();
  copy.visit_tensors([&](const std::string&, Tensor& x, nn::TensorKind) {
    if (*place) x = tensors[**place];
    ++place;
  });
}

ModuleParameters::ModuleParameters(const Replicas& replicas,
                                   const ModeRules& rules,
                                   Options options)
    : replicas_(replicas), rules_(rules), options_(options) {
  bind();
}

void ModuleParameters::bind() {
  ++generation_;
  const auto original = bind_original();
  const optim::ArenaLayout& layout = original->layout();
  gradient_buckets_ = std::make_shared<const std::vector<Bucket>>(
      shares_ != nullptr
          ? plan_block_buckets(layout)
          : plan_buckets(
                layout, options_.exchange.first_bucket_nbytes, options_.exchange.bucket_nbytes));
  if (!values_sleep())
    broadcast_buckets_ = plan_broadcast(
        layout, options_.exchange.first_bucket_nbytes, options_.exchange.bucket_nbytes);
  for (const auto& replica : replicas_)
    bind_replica(*replica, original);
}

/// Keeps a module's parameters as shares of all devices.
class ModuleParameters::Keeper final : public optim::ArenaKeeper {
 public:
  Keeper(std::shared_ptr<BlockShares> shares, bool keeps_values)
      : shares_(std::move(shares)), keeps_values_(keeps_values) {}
  bool keeps_values() const noexcept override { return keeps_values_; }
  void keep(int, const Tensor& values) override { shares_->add_block(values); }
  void end(const optim::Arena& arena) override {
    shares_->add_gradients(arena.layout());
    sleeping_ = SleepingBlocks::of(shares_, arena, 0);
  }
  const std::shared_ptr<SleepingBlocks>& original() const noexcept { return sleeping_; }

 private:
  std::shared_ptr<BlockShares> shares_;
  bool keeps_values_;
  std::shared_ptr<SleepingBlocks> sleeping_;
};

std::shared_ptr<optim::Arena> ModuleParameters::bind_original() {
  std::vector<optim::ArenaEntry> entries =
      arena_entries(first().source(), nn::TensorKind::parameter);
  if (entries.empty()) return optim::Arena::none(first().device());
  if (!rules_.has_units() || replicas_.size() == 1)
    return optim::Arena::obtain(std::move(entries), {.device = first().device()});
  assign_units(entries, first().source().unit_paths(options_.sharding.units));
  std::vector<Device> devices;
  for (const auto& replica : replicas_)
    devices.push_back(replica->device());
  shares_ = std::make_shared<BlockShares>(
      std::move(devices), options_.sharding.offload, options_.sharding.prefetch.value_or(0));
  keeper_ = std::make_shared<Keeper>(shares_, values_sleep());
  return optim::Arena::bind(
      entries,
      {.padding = BlockShares::padding(replicas_.size(), options_.sharding.whole_tensors),
       .keeper = keeper_,
       .device = first().device()});
}

void ModuleParameters::bind_replica(DeviceReplica& replica,
                                    const std::shared_ptr<optim::Arena>& original) {
  if (replica.index() == 0) {
    replica.bind_parameters(original);
  } else {
    const optim::ArenaReplica copy = original->replicate(replica.device());
    if (values_sleep()) copy.arena->set_versions(original->versions());  // none come with a send
    replica.bind_parameters(copy.arena);
    place_tensors(first().source(), *original, replica.source(), copy.tensors);
  }
  replica.reduce_by(gradient_buckets_, rules_.reduction);
  if (keeper_ != nullptr) {
    sleeping_.push_back(replica.index() == 0
                            ? keeper_->original()
                            : SleepingBlocks::of(shares_, *replica.parameters(), replica.index()));
    replica.let_sleep(sleeping_.back());
    replica.blocks().keep_values(!options_.sharding.reshard_after_forward);
  }
  replica.watch_gradients();
}

void ModuleParameters::give_back() noexcept {
  try {
    first().blocks().wake_for_good();
  } catch (...) {  // they stay on all devices, and are gathered where somebody uses them
  }
}

void ModuleParameters::release() {
  for (const auto& replica : replicas_)
    replica->release_parameters();
  gradient_buckets_ = std::make_shared<const std::vector<Bucket>>();
  broadcast_buckets_.clear();
  sleeping_.clear();
  keeper_.reset();
  shares_.reset();
}

std::vector<std::shared_ptr<optim::Arena>> ModuleParameters::arenas() const {
  std::vector<std::shared_ptr<optim::Arena>> all;
  for (const auto& replica : replicas_)
    all.push_back(replica->parameters());
  return all;
}

std::vector<Tensor> ModuleParameters::tensors() const {
  std::vector<Tensor> all;
  for (const std::size_t p : arena()->layout().place_indices())
    if (const Tensor x = arena()->tensor(p); x.defined()) all.push_back(x);
  return all;
}

std::vector<std::vector<Tensor>> ModuleParameters::training() const {
  std::vector<std::vector<Tensor>> copies(replicas_.size());
  for (const std::size_t p : arena()->layout().place_indices()) {
    if (const Tensor x = arena()->tensor(p); !x.defined() || !x.requires_grad()) continue;
    for (const auto& replica : replicas_)
      copies[static_cast<std::size_t>(replica->index())].push_back(
          replica->parameters()->tensor(p));
  }
  return copies;
}

bool ModuleParameters::have_hooks() const {
  return has_parameter_hooks(*arena());
}

void ModuleParameters::begin(Call& call) const {
  call.parameters.blocks = block_versions(*arena());
  call.parameters.places = arena()->versions();
  first().blocks().sleep();  // what was changed there is to be seen
  if (values_sleep()) return;
  call.parameters.send = rules_.sends_all();
  for (const int d : call.group.members())
    call.parameters.send |=
        d > 0 && call.part(d).replica->received.parameters != call.parameters.blocks;
}

// Note [Versions of replicas]: a replica's tensor has the version of the module's tensor whose
// value it has. So what an earlier forward has saved counts as changed if and only if the module's
// tensor was changed, as on one device, and not because the same value was sent once more.
void ModuleParameters::send(Call& call, Call::Part& part) const {
  if (!call.parameters.send || part.is_alone()) return;
  const optim::Arena& values = *part.replica->parameters();
  part.broadcast.start(values, broadcast_buckets_, *part.comm);
  values.set_versions(call.parameters.places);
  if (rules_.sends_all()) part.broadcast.finish();
}

void ModuleParameters::end_send(Call& call, Call::Part& part) const {
  part.replica->blocks().sleep_values();
  part.replica->blocks().set_writes(ReplicaBlocks::Writes::kept);  // an update's
  if (!call.parameters.send) return;
  in_phase(part, Phase::replicate, [&] { part.broadcast.finish(); });
}

void ModuleParameters::note_sent(const Call& call) const {
  for (const int d : call.group.members())
    call.part(d).replica->received.parameters = call.parameters.blocks;
}

void ModuleParameters::note_equal(const Call& call) const {
  // Values were gathered by buckets, and have been written where no device has changed them, too.
  optim::Arena::Versions versions = call.parameters.places;
  for (std::size_t p = 0; p < versions.size(); ++p) {
    const bool updated = std::ranges::any_of(call.parts, [p](const Call::Part& part) {
      return !part.updated.empty() && part.updated[p] != 0;
    });
    if (updated) ++versions[p];
  }
  const std::vector<std::uint64_t> present = block_versions(*arena());
  for (const auto& replica : replicas_) {
    replica->received.parameters = present;
    replica->parameters()->set_versions(versions);
  }
}

}  // namespace tandem::parallel
