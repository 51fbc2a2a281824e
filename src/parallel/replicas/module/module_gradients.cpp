// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/module/module_gradients.hpp"

#include <algorithm>
#include <utility>

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"

#include "parallel/replicas/call/processes.hpp"
#include "parallel/update/central_update.hpp"
#include "parallel/update/update_sharing.hpp"

namespace tandem::parallel {
namespace {

using Used = GradientTally::Used;

bool has_gradients(const optim::Arena& arena) {
  return std::ranges::any_of(arena.layout().place_indices(), [&](std::size_t p) {
    const Tensor x = arena.tensor(p);
    return x.defined() && autograd::stored_gradient(x).defined();
  });
}

}  // namespace

ModuleGradients::ModuleGradients(const Replicas& replicas,
                                 const ModuleParameters& parameters,
                                 const ModeRules& rules,
                                 CallRunner& runner,
                                 OnAllDevices on_all_devices)
    : replicas_(replicas),
      parameters_(parameters),
      rules_(rules),
      runner_(runner),
      on_all_devices_(std::move(on_all_devices)),
      reads_([this] { complete(); }) {
  bind();
}

void ModuleGradients::bind() {
  const auto& buckets = parameters_.gradient_buckets();
  update_ = std::make_shared<CentralUpdate>();
  if (replicas_.size() == 1 || buckets->empty()) return;
  update_ = rules_.make_update({.arenas = parameters_.arenas(),
                                .buckets = buckets,
                                .on_devices = [this](const auto& part) { update_everywhere(part); },
                                .reduce = [this] { sync(); },
                                .shares = parameters_.shares(),
                                .sleeping = parameters_.sleeping()});
  if (optim::ArenaSharing* sharing = update_->sharing())
    parameters_.arena()->share(std::shared_ptr<optim::ArenaSharing>(update_, sharing));
  reads_.attach(*parameters_.arena());
}

void ModuleGradients::release() {
  update_ = std::make_shared<CentralUpdate>();
}

void ModuleGradients::complete_on_reading(const std::shared_ptr<const void>& owner) {
  if (replicas_.size() == 1) return;
  reads_.begin(owner);
  reads_.attach(*parameters_.arena());
}

void ModuleGradients::update_everywhere(const std::function<void(int device)>& part) {
  const auto update = [this, &part](Call& call, Call::Part& own) {
    in_phase(own, Phase::replicate, [&] { parameters_.send(call, own); });
    in_phase(own, Phase::update, [&] {
      note_update(own, [&] {
        part(own.index());
        update_->note_written(own.index());
      });
      update_->gather_values(*own.comm, own.index());
    });
    parameters_.end_send(call, own);
  };
  try {
    parameters_.note_equal(*on_all_devices_(Phase::update, update));
  } catch (const ReplicaError& e) {
    runner_.poison(std::string("an update failed half-way: ") + e.what());
    throw;
  }
}

// After a backward that was not reduced the module has every gradient that some replica made.
void ModuleGradients::follow_drops() {
  const optim::Arena& arena = *parameters_.arena();
  if (unreduced_ && !has_gradients(arena)) {
    unreduced_ = false;
    for (const auto& replica : replicas_)
      replica->blocks().discard_gradients(false);
  }
  if (!unreduced_) return;
  for (const std::size_t p : arena.layout().place_indices()) {
    if (autograd::stored_gradient(arena.tensor(p)).defined()) continue;
    for (const auto& replica : replicas_) {
      replica->parameters()->tensor(p).set_grad({});
      replica->reducer()->forget(p);
    }
  }
}

GradientSnapshot ModuleGradients::begin_backward() {
  follow_drops();
  update_->begin_backward();
  GradientSnapshot snapshot;
  const GradientReads::AsTheyLie scope(reads_);
  for (const auto& replica : replicas_)
    if (unreduced_ || replica->index() == 0) snapshot.take(replica->parameters());
  return snapshot;
}

void ModuleGradients::restore(const GradientSnapshot& snapshot) {
  const GradientReads::AsTheyLie scope(reads_);
  if (runner_.is_usable()) update_->discard();  // or a job may still run
  try {
    snapshot.restore();
  } catch (const std::exception& e) {
    runner_.poison(std::string("gradients of before a failure could not be set again: ") +
                   e.what());
  }
}

void ModuleGradients::arm(Call& call, Call::Part& part) const {
  const std::size_t backwards = std::max<std::size_t>(call.micro_batches.size(), 1);
  part.replica->arm(reduces() ? call.processes->groups_of(part, rules_.are_devices_alike())
                              : BucketReducer::Groups{},
                    static_cast<std::int64_t>(backwards),
                    unreduced_ ? Used::kept : Used::fresh);
}

void ModuleGradients::adopt(const Call& call) {
  const GradientReads::AsTheyLie scope(reads_);
  const optim::Arena& arena = *parameters_.arena();
  const std::vector<std::uint8_t>& used = call.part(0).used;  // of all processes alike
  const auto is_used_on = [&](std::size_t p) {
    return [&call, p](int d) { return call.part(d).replica->reducer()->tally().used()[p] != 0; };
  };
  for (const std::size_t p : arena.layout().place_indices()) {
    const Tensor x = arena.tensor(p);
    if (!x.requires_grad() || autograd::stored_gradient(x).defined()) continue;
    const bool made =
        used.empty() ? std::ranges::any_of(call.group.members(), is_used_on(p)) : used[p] != 0;
    if (made) x.set_grad(arena.gradient(p));
  }
}

void ModuleGradients::note_backward() noexcept {
  unreduced_ = !reduces() && replicas_.size() > 1;
}

void ModuleGradients::sync() {
  if (!unreduced_ || runner_.is_running()) return;
  const GradientSnapshot snapshot = begin_backward();
  if (!unreduced_) return;
  std::shared_ptr<Call> call;
  try {
    call = on_all_devices_(Phase::reduce, [this](Call& own, Call::Part& part) {
      part.replica->arm(own.processes->groups_of(part, rules_.are_devices_alike()), 1, Used::kept);
      finish_reduction(own, part);
      vote(part);
    });
  } catch (...) {
    restore(snapshot);
    throw;
  }
  unreduced_ = false;
  adopt(*call);
  update_->reduced();
}

void ModuleGradients::complete() {
  sync();
  update_->complete();
}

}  // namespace tandem::parallel
