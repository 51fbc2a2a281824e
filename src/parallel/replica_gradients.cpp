// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <utility>

#include "tandem/autograd/autograd.hpp"
#include "tandem/autograd/gradient_source.hpp"
#include "tandem/parallel/replica_error.hpp"

#include "parallel/replica_state.hpp"

// How gradients come together, and what is done with them.
namespace tandem::parallel {
namespace {

using Used = BucketReducer::Used;

/// What brings the gradients together when somebody looks at the module's.
class Source final : public autograd::GradientSource {
 public:
  explicit Source(std::function<void()> complete) : complete_(std::move(complete)) {}
  void complete() override { complete_(); }

 private:
  std::function<void()> complete_;
};

/// Gradients are looked at without being reduced first.
class AsTheyLie {
 public:
  explicit AsTheyLie(std::atomic<bool>& running)
      : running_(running), before_(running.exchange(true)) {}
  ~AsTheyLie() { running_ = before_; }
  AsTheyLie(const AsTheyLie&) = delete;
  AsTheyLie& operator=(const AsTheyLie&) = delete;

 private:
  std::atomic<bool>& running_;
  bool before_;
};

}  // namespace

void ReplicaSet::State::set_gradient_sources(const std::shared_ptr<State>& self) {
  if (params[0] == nullptr || devices.size() == 1) return;
  gradient_source = std::make_shared<Source>([weak = std::weak_ptr(self)] {
    if (const auto state = weak.lock()) state->complete_gradients();
  });
  bind_gradient_source();
}

void ReplicaSet::State::bind_gradient_source() {
  if (gradient_source == nullptr) return;
  for (std::size_t p = 0; p < params[0]->layout().places().size(); ++p) {
    const Tensor x = params[0]->tensor(p);
    if (x.requires_grad()) autograd::set_gradient_source(x, gradient_source);
  }
}

void ReplicaSet::State::complete_gradients() {
  sync_gradients();
  if (sharing != nullptr) sharing->complete();
}

GradientSnapshot ReplicaSet::State::begin_gradients() {
  const auto& arena = params[0];
  bool any = false;
  for (std::size_t p = 0; arena != nullptr && !any && p < arena->layout().places().size(); ++p) {
    const Tensor x = arena->tensor(p);
    any = x.defined() && autograd::stored_gradient(x).defined();
  }
  if (!any) unreduced = false;  // the module's were dropped, and so are the replicas'
  if (sharing != nullptr) sharing->begin_backward();
  GradientSnapshot snapshot;
  const AsTheyLie scope(running);
  for (std::size_t r = 0; r < (unreduced ? params.size() : 1); ++r)
    snapshot.take(params[r]);
  return snapshot;
}

void ReplicaSet::State::restore(const GradientSnapshot& snapshot) {
  const AsTheyLie scope(running);
  if (sharing != nullptr) sharing->discard();
  snapshot.restore();
}

void ReplicaSet::State::arm(Call& call, int rank) {
  if (params[0] == nullptr) return;
  const auto r = static_cast<std::size_t>(rank);
  if (rank != 0 && !unreduced) drop_gradients(rank);
  const std::size_t backwards = std::max<std::size_t>(call.micro_batches.size(), 1);
  reducers[r].arm(syncs ? call.group->comm_of(rank) : nullptr,
                  static_cast<std::int64_t>(backwards),
                  unreduced ? Used::kept : Used::fresh);
  const bool looks = call.loss_scale || options.non_finite_gradients != NonFinite::off;
  if (looks && options.mode == Mode::ddp) reducers[r].watch_non_finite();
}

void ReplicaSet::State::drop_gradients(int rank) const {
  const optim::Arena& arena = *params[static_cast<std::size_t>(rank)];
  for (std::size_t p = 0; p < arena.layout().places().size(); ++p)
    arena.tensor(p).set_grad({});
}

void ReplicaSet::State::reduce(Call& call, int rank) {
  if (params[0] == nullptr) return;
  in_phase(call, rank, Phase::reduce, [&] { reducers[static_cast<std::size_t>(rank)].finish(); });
}

void ReplicaSet::State::adopt_gradients(const Call& call) {
  if (params[0] == nullptr) return;
  const AsTheyLie scope(running);
  for (std::size_t p = 0; p < params[0]->layout().places().size(); ++p) {
    const Tensor x = params[0]->tensor(p);
    if (!x.requires_grad() || autograd::stored_gradient(x).defined()) continue;
    for (const int r : call.group->ranks) {
      if (reducers[static_cast<std::size_t>(r)].used()[p] == 0) continue;
      x.set_grad(params[0]->gradient(p));
      break;
    }
  }
}

void ReplicaSet::State::note_reduction() noexcept {
  unreduced = !syncs && devices.size() > 1;
}

void ReplicaSet::State::sync_gradients() {
  if (!unreduced || running) return;
  const GradientSnapshot snapshot = begin_gradients();
  if (!unreduced) return;
  const bool before = syncs;
  syncs = true;
  const auto call = begin_everywhere();
  try {
    run(call, Phase::reduce, [this, call](int rank) {
      const auto r = static_cast<std::size_t>(rank);
      reducers[r].arm(call->group->comm_of(rank), 1, Used::kept);
      reduce(*call, rank);
      vote(*call, rank);
    });
  } catch (...) {
    syncs = before;
    restore(snapshot);
    throw;
  }
  unreduced = false;
  adopt_gradients(*call);
  if (sharing != nullptr) sharing->reduced();
  syncs = before;
}

void ReplicaSet::State::run_hooks(Call& call, int rank) {
  if (call.hooks == nullptr) return;
  vote(call, rank);  // all gradients are there
  if (rank == 0) {
    adopt_gradients(call);
    in_phase(call, rank, Phase::backward, [&] { call.hooks->run(); });
  }
  vote(call, rank);
}

double ReplicaSet::State::outside_factor(const Call& call, const StepOutcome& outcome) const {
  const double scale = call.loss_scale ? 1 / *call.loss_scale : 1;
  if (!is_bitwise()) return scale;
  return scale * static_cast<double>(call.batch_rows()) / outcome.weights[0];
}

void ReplicaSet::State::pass_outside(Call& call,
                                     int rank,
                                     const StepOutcome& outcome,
                                     optim::Optimizer& optimizer) {
  if (!call.has_outside()) return;
  if (rank == 0) {
    try {
      in_phase(call, rank, Phase::backward, [&] {
        parallel::pass_outside(call.outside, outside_factor(call, outcome));
      });
      optimizer.prepare();  // it may be about to update them
    } catch (...) {
      call.commit_errors[0] = std::current_exception();
    }
  }
  vote(call, rank);
}

template <class F>
void ReplicaSet::State::note_update(Call& call, int rank, F&& update) const {
  const auto r = static_cast<std::size_t>(rank);
  const optim::Arena::Versions before = params[r]->versions();
  update();
  const optim::Arena::Versions after = params[r]->versions();
  call.updated[r].resize(before.size());
  for (std::size_t p = 0; p < before.size(); ++p)
    call.updated[r][p] = before[p] != after[p] ? 1 : 0;
}

void ReplicaSet::State::update(Call& call, int rank, optim::Optimizer& optimizer) {
  const auto r = static_cast<std::size_t>(rank);
  if (call.shared_update) {
    try {
      std::exception_ptr error;
      note_update(call, rank, [&] { error = optimizer.update_on(devices[r]); });
      if (call.commit_errors[r] == nullptr) call.commit_errors[r] = std::move(error);
      sharing->gather_values(*call.group->comm_of(rank), rank);
    } catch (...) {
      if (call.commit_errors[r] == nullptr) call.commit_errors[r] = std::current_exception();
    }
  } else if (rank == 0 && call.commit_errors[0] == nullptr) {
    call.commit_errors[0] = optimizer.commit();
  }
}

void ReplicaSet::State::update_everywhere(const std::function<void(int rank)>& part) {
  const auto call = begin_everywhere();
  call->replicate_buffers = false;
  try {
    run(call, Phase::update, [this, call, &part](int rank) {
      replicate(*call, rank);
      in_phase(*call, rank, Phase::update, [&] {
        note_update(*call, rank, [&] { part(rank); });
        sharing->gather_values(*call->group->comm_of(rank), rank);
      });
      end_replicate(*call, rank);
    });
  } catch (const Error& e) {
    poison(std::string("an update failed half-way: ") + e.what());
    throw;
  }
  mark_synced(*call);
}

void ReplicaSet::State::mark_synced(const Call& call) {
  if (params[0] == nullptr) return;
  std::ranges::fill(synced, versions_of(*params[0]));
  // Values were gathered by buckets, and have been written where no device has changed them, too.
  optim::Arena::Versions versions = call.parameters;
  for (std::size_t p = 0; p < versions.size(); ++p) {
    const bool updated = std::ranges::any_of(
        call.updated, [p](const auto& places) { return !places.empty() && places[p] != 0; });
    if (updated) ++versions[p];
  }
  for (const auto& arena : params)
    arena->set_versions(versions);
}

}  // namespace tandem::parallel
