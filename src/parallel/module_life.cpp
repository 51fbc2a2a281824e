// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/core/check.hpp"
#include "tandem/nn/replicate.hpp"
#include "tandem/runtime/context.hpp"

#include "parallel/replica_state.hpp"

// What may become of a module between calls of its wrapper.
namespace tandem::parallel {
namespace {

constexpr const char* kAgain = "; end this DataParallel and wrap the module again";

void check_all_seen(const std::shared_ptr<optim::Arena>& arena, const std::vector<bool>& seen) {
  for (std::size_t p = 0; p < seen.size(); ++p) {
    TANDEM_CHECK(seen[p],
                 "DataParallel: '",
                 arena->layout().places()[p].name,
                 "' was removed after wrapping",
                 kAgain);
  }
}

}  // namespace

void ReplicaSet::State::note_module() {
  for (nn::Module* module : modules) {
    for (nn::Module* part : module->modules())
      nn::detail::Wrapping::mark(*part, token);
  }
  note_tensors();
}

void ReplicaSet::State::note_tensors() {
  trains = training_places();
  for (const auto* arenas : {&params, &buffers}) {
    for (const auto& arena : *arenas)
      if (arena != nullptr) arena->claim(token);
  }
  if (master_buffers != nullptr) master_buffers->claim(token);
}

void ReplicaSet::State::check_outside() {
  TANDEM_CHECK(context().rows.end < 0,
               "DataParallel: called inside a replica (rows ",
               context().rows.begin,
               " to ",
               context().rows.end,
               "), whose devices are busy; call the module itself there");
}

void ReplicaSet::State::check_module() const {
  check_outside();
  TANDEM_CHECK(poisoned.empty(),
               "DataParallel: its replicas are in an unknown state, since ",
               poisoned,
               "; restore the checkpoint and wrap the module again");
  std::vector<bool> parameters(trains.size()), states(own_buffers.size());
  nn::visit_tensors(*modules[0], [&](const std::string& name, Tensor& x, nn::TensorKind kind) {
    const bool parameter = kind == nn::TensorKind::parameter;
    const auto& arena = parameter ? params[0] : master_buffers;
    const auto place = arena == nullptr ? std::nullopt : arena->place_of(x);
    TANDEM_CHECK(place.has_value(),
                 "DataParallel: '",
                 name,
                 "' was added, resized or moved after wrapping",
                 kAgain);
    (parameter ? parameters : states)[*place] = true;
  });
  check_all_seen(params[0], parameters);
  check_all_seen(master_buffers, states);
}

std::vector<bool> ReplicaSet::State::training_places() const {
  std::vector<bool> places;
  for (std::size_t p = 0; params[0] != nullptr && p < params[0]->layout().places().size(); ++p)
    places.push_back(params[0]->tensor(p).requires_grad());
  return places;
}

// Buckets, shares and the replicas' storage are laid out for what trains.
void ReplicaSet::State::follow_training() {
  if (rebinds || training_places() == trains) return;
  rebinds = true;
  try {
    clear_hooks();
    sharing.reset();
    reducers.clear();
    transfers.clear();
    params.clear();
    synced.clear();
    bind_parameters();
    set_hooks();
    bind_gradient_source();
    note_tensors();
    ++generation;
  } catch (...) {
    poison("its parameters were frozen or unfrozen, and could not be laid out anew");
    rebinds = false;
    throw;
  }
  rebinds = false;
}

void ReplicaSet::State::follow_module() {
  const std::vector<nn::Module*> own = modules[0]->modules();
  for (std::size_t r = 1; r < modules.size(); ++r) {
    const std::vector<nn::Module*> copy = modules[r]->modules();
    TANDEM_CHECK(copy.size() == own.size(),
                 "DataParallel: the module had ",
                 copy.size(),
                 " parts when it was wrapped, now ",
                 own.size(),
                 kAgain);
    for (std::size_t i = 0; i < own.size(); ++i)
      nn::detail::Wrapping::follow(*copy[i], *own[i]);
  }
}

}  // namespace tandem::parallel
