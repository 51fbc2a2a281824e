// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/parallel/replica_set.hpp"

#include <utility>

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/runtime/runtime.hpp"

#include "parallel/replica_state.hpp"
#include "runtime/job_group.hpp"

namespace tandem::parallel {
namespace {

/// Shows the module its private buffers until the end of the scope, whichever way that comes.
template <class State>
class PrivateBuffers {
 public:
  explicit PrivateBuffers(State& state) : state_(state) {
    state_.show_buffers(state_.private_buffers);
  }
  ~PrivateBuffers() { state_.show_buffers(state_.own_buffers); }
  PrivateBuffers(const PrivateBuffers&) = delete;
  PrivateBuffers& operator=(const PrivateBuffers&) = delete;

 private:
  State& state_;
};

/// A step whose gradients hooks are waiting for reduces them, also under no_sync.
class ReducesNow {
 public:
  ReducesNow(bool& syncs, const ParameterHooks& hooks) : syncs_(syncs), before_(syncs) {
    syncs_ |= hooks.any();
  }
  ~ReducesNow() { syncs_ = before_; }
  ReducesNow(const ReducesNow&) = delete;
  ReducesNow& operator=(const ReducesNow&) = delete;

 private:
  bool& syncs_;
  bool before_;
};

}  // namespace

ReplicaSet::ReplicaSet(std::vector<nn::Module*> modules,
                       std::vector<Device> devices,
                       const DataParallelOptions& options)
    : state_(std::make_shared<State>(std::move(modules), std::move(devices), options)) {
  state_->set_gradient_sources(state_);
}

ReplicaSet::~ReplicaSet() {
  state_->clear_hooks();
}

const std::vector<Device>& ReplicaSet::devices() const noexcept {
  return state_->devices;
}

std::vector<Tensor> ReplicaSet::parameters() const {
  const auto& arena = state_->params[0];
  std::vector<Tensor> parameters;
  for (std::size_t p = 0; arena != nullptr && p < arena->layout().places().size(); ++p) {
    if (const Tensor x = arena->tensor(p); x.defined()) parameters.push_back(x);
  }
  return parameters;
}

std::vector<std::vector<Tensor>> ReplicaSet::replica_parameters() const {
  std::vector<std::vector<Tensor>> parameters(state_->devices.size());
  const auto& arena = state_->params[0];
  for (std::size_t p = 0; arena != nullptr && p < arena->layout().places().size(); ++p) {
    if (const Tensor x = arena->tensor(p); !x.defined() || !x.requires_grad()) continue;
    for (std::size_t d = 0; d < parameters.size(); ++d)
      parameters[d].push_back(state_->params[d]->tensor(p));
  }
  return parameters;
}

std::uint64_t ReplicaSet::generation() const noexcept {
  return state_->generation;
}

bool ReplicaSet::has_parameter_hooks() const {
  return state_->params[0] != nullptr && parallel::has_parameter_hooks(*state_->params[0]);
}

std::size_t ReplicaSet::parameter_nbytes() const noexcept {
  return state_->params[0] == nullptr ? 0 : state_->params[0]->layout().nbytes();
}

void ReplicaSet::forward(const std::vector<RowRange>& rows, const Body& body) {
  State& state = *state_;
  CallGate::Pass pass = state.enter();
  const auto call = state.begin(rows);
  pass.show(call);
  state.expect_writes(*call);
  const PrivateBuffers<State> buffers(state);
  state.run(call, Phase::replicate, [state = state_, call, body](int rank) {
    state->replicate(*call, rank);
    if (call->active(rank)) {
      in_phase(*call, rank, Phase::forward, [&] { body(state->replica(*call, rank)); });
    }
    state->end_replicate(*call, rank);
    state->combine_buffers(*call, rank);
    state->agree(*call, rank);
    state->merge_buffers(*call, rank);
  });
  state.commit(*call);
}

void ReplicaSet::backward(const std::vector<RowRange>& rows, const Body& body) {
  State& state = *state_;
  CallGate::Pass pass = state.enter();
  const auto call = state.begin_backward(rows);
  pass.show(call);
  const auto snapshot = state.begin_gradients();
  try {
    state.run(call, Phase::backward, [state = state_, call, body](int rank) {
      state->arm(*call, rank);
      if (!state->reducers.empty())
        state->reducers[static_cast<std::size_t>(rank)].begin_backward();
      if (call->active(rank)) body(state->replica(*call, rank));
      state->reduce(*call, rank);
      state->agree(*call, rank);
    });
  } catch (...) {
    state.restore(snapshot);
    throw;
  }
  state.note_reduction();
  state.adopt_gradients(*call);
  if (state.sharing != nullptr && state.syncs) state.sharing->reduced();
}

void ReplicaSet::on_replicas(const std::vector<RowRange>& rows, const Body& body) {
  State& state = *state_;
  CallGate::Pass pass = state.enter();
  const auto call = state.begin_backward(rows);
  pass.show(call);
  state.run(call, Phase::backward, [state = state_, call, body](int rank) {
    if (call->active(rank)) body(state->replica(*call, rank));
    state->agree(*call, rank);
  });
}

void ReplicaSet::State::check_step(const std::vector<RowRange>& planned,
                                   const optim::Optimizer* optimizer,
                                   const StepOptions& step) const {
  TANDEM_CHECK(planned.back().end > 0,
               "step: the batch has no rows, and so no mean loss; leave it out");
  TANDEM_CHECK(
      syncs || (optimizer == nullptr && !is_bitwise()),
      "DataParallel: a step with an optimizer, or in the bitwise mode, needs gradients that have "
      "been reduced; leave the scope of no_sync first");
  TANDEM_CHECK(step.scaler == nullptr || optimizer != nullptr,
               "step: a scaler without an optimizer, whose update it guards; give both");
}

StepResult ReplicaSet::step(const std::vector<RowRange>& planned,
                            const LossBody& body,
                            optim::Optimizer* optimizer,
                            const StepOptions& options,
                            const std::shared_ptr<StepOutcome>& outcome,
                            Effect effect) {
  State& state = *state_;
  state.check_step(planned, optimizer, options);
  CallGate::Pass pass = state.enter();
  const bool bitwise = state.is_bitwise();
  const auto rows = bitwise ? state.cut_into_leaves(planned, *outcome) : planned;
  const auto call = state.begin(rows);
  const auto hooks = std::make_shared<const ParameterHooks>(state.params[0]);
  if (hooks->any()) call->hooks = hooks;
  const ReducesNow reduces(state.syncs, *hooks);
  call->has_no_effect = effect == Effect::none;
  state.cut(*call);
  state.watch_drift(*call);
  if (options.scaler != nullptr) call->loss_scale = options.scaler->get_scale();
  outcome->resize(rows.size());
  if (optimizer != nullptr) optimizer->zero_grad();
  // Earlier gradients are not to be rescaled with those of the parts, nor added to them in their
  // order.
  const bool anew = bitwise || call->accumulates() || call->loss_scale || call->hooks != nullptr;
  if (anew && state.syncs) state.sync_gradients();
  const auto snapshot = state.begin_gradients();
  if (anew) snapshot.clear();
  pass.show(call);
  state.expect_writes(*call);
  const PrivateBuffers<State> buffers(state);
  StepResult result;
  try {
    state.run(call, Phase::replicate, [state = state_, call, outcome, body, optimizer](int rank) {
      state->step_replica(*call, rank, body, optimizer, *outcome);
    });
    result = state.result_of(*call, *outcome);
  } catch (...) {
    state.restore(snapshot);
    throw;
  }
  if (options.scaler != nullptr) options.scaler->update(call->overflow());
  if (result.skipped) {
    state.restore(snapshot);
    return result;
  }
  if (call->shared_update) call->commit_errors[0] = optimizer->end_commit(call->commit_error());
  state.commit(*call);
  state.note_reduction();
  ++state.steps;
  if (anew) snapshot.add();
  if (optimizer == nullptr && call->has_outside())
    pass_outside(call->outside, state.outside_factor(*call, *outcome));
  return result;
}

void ReplicaSet::set_syncs(GradientSync sync) {
  state_->syncs = sync == GradientSync::on;
}

GradientSync ReplicaSet::syncs() const noexcept {
  return state_->syncs ? GradientSync::on : GradientSync::off;
}

void ReplicaSet::sync() {
  State& state = *state_;
  const CallGate::Pass pass = state.enter();
  state.sync_gradients();
  const auto call = state.begin_everywhere();
  state.run(call, Phase::replicate, [state = state_, call](int rank) {
    state->replicate(*call, rank);
    state->end_replicate(*call, rank);
    state->vote(*call, rank);
  });
  state.mark_synced(*call);
}

void ReplicaSet::cancel() noexcept {
  state_->gate.cancel();
}

const std::shared_ptr<ReplicaSet>& ReplicaSetOwner::get() const {
  TANDEM_CHECK(set_ != nullptr,
               "DataParallel: it was moved from; use the one that it was moved to");
  return set_;
}

void ReplicaSet::on_device(Device device, Phase phase, const std::function<void()>& body) {
  const ContextScope scope([&](Context& c) { c.phase = phase; });
  Worker& worker = logical_device(device).worker();
  if (state_->devices.size() == 1 || worker.is_current()) {
    body();
  } else {
    const Deadline deadline(state_->options.deadline, {device});
    Ticket ticket = worker.submit(body);
    if (std::exception_ptr error = outcome(ticket, deadline))
      std::rethrow_exception(std::move(error));
  }
}

}  // namespace tandem::parallel
