// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/step/train_step.hpp"

#include <utility>

#include "parallel/replicas/step/find_straggler.hpp"

// A step from the top down. docs/architecture.md has its phases in a table.
namespace tandem::parallel {
namespace {

/// A step whose gradients hooks are waiting for reduces them, also under no_sync.
class ReducesNow {
 public:
  ReducesNow(ModuleGradients& gradients, bool has_hooks)
      : gradients_(gradients), before_(gradients.syncs) {
    if (has_hooks) gradients.syncs = GradientSync::on;
  }
  ~ReducesNow() { gradients_.syncs = before_; }
  ReducesNow(const ReducesNow&) = delete;
  ReducesNow& operator=(const ReducesNow&) = delete;

 private:
  ModuleGradients& gradients_;
  GradientSync before_;
};

}  // namespace

TrainStep::TrainStep(std::shared_ptr<Engine> engine,
                     std::shared_ptr<Call> call,
                     std::unique_ptr<GradientPass> pass,
                     optim::Optimizer* optimizer,
                     optim::GradScaler* scaler,
                     Effect effect)
    : engine_(std::move(engine)),
      call_(std::move(call)),
      pass_(std::move(pass)),
      optimizer_(optimizer),
      scaler_(scaler),
      earlier_(engine_->gradients) {
  const auto hooks = std::make_shared<const ParameterHooks>(engine_->parameters.arena());
  if (hooks->any()) call_->hooks = hooks;
  call_->has_no_effect = effect == Effect::none;
  if (scaler_ != nullptr) call_->loss_scale = scaler_->get_scale();
  engine_->drift.begin(*call_);
}

StepResult TrainStep::take(const std::shared_ptr<TrainStep>& step, CallGate::Pass& gate) {
  Engine& engine = *step->engine_;
  const ReducesNow reduces(engine.gradients, step->call_->hooks != nullptr);
  step->prepare();
  gate.show(step->call_);
  const ModuleBuffers::Shown buffers(engine.buffers);
  StepResult result;
  try {
    engine.runner.run(
        step->call_, Phase::replicate, [step](Call::Part& part) { step->on_device(part); });
    result = step->result();
  } catch (...) {
    step->earlier_.restore();
    throw;
  }
  if (step->scaler_ != nullptr) step->scaler_->update(step->call_->overflow());
  if (result.skipped) {
    step->earlier_.restore();
    engine.runner.check_usable();
  } else {
    step->commit();
  }
  return result;
}

void TrainStep::prepare() {
  if (optimizer_ != nullptr) optimizer_->zero_grad();
  // Earlier gradients are not to be rescaled with those of the parts, nor added to them in their
  // order.
  earlier_.begin(pass_->begins_anew(*call_) || call_->loss_scale || call_->hooks != nullptr ||
                 call_->processes->are_several());
  engine_->buffers.expect_writes(*call_);
}

void TrainStep::on_device(Call::Part& part) {
  const SleepAtEnd sleep(part.replica->blocks());
  exchange_rows(*call_, part);
  in_phase(part, Phase::replicate, [&] {
    engine_->parameters.send(*call_, part);
    engine_->buffers.send(*call_, part);
  });
  DriftCheck::hash_buffers(*call_, part);
  pass_->run(*call_, part);  // scatter, forward, loss, backward
  engine_->parameters.end_send(*call_, part);
  reduce(part);
  const bool updates_shares = optimizer_ != nullptr && engine_->gradients.update().is_shared();
  if (updates_shares || earlier_.are_to_be_added())
    vote(part);  // device 0 uses the gradients of all devices
  if (part.is_first()) prepare_update();
  agree(*call_, part);
  part.leaf_sums.clear();
  if (call_->has_no_effect) return;
  engine_->buffers.merge(*call_, part);
  if (optimizer_ == nullptr) return;
  pass_outside(part);
  in_phase(part, Phase::update, [&] { update(part); });
}

void TrainStep::reduce(Call::Part& part) {
  if (call_->hooks != nullptr) {
    vote(part);  // all gradients are there
    if (part.is_first()) run_hooks(part);
    vote(part);
  }
  engine_->non_finite.inspect_gradients(*call_, part);
  engine_->buffers.combine(*call_, part);
  engine_->drift.check(*call_, part);
}

void TrainStep::run_hooks(Call::Part& first) {
  engine_->gradients.adopt(*call_);
  in_phase(first, Phase::backward, [&] {
    call_->hooks->run(where_gradients_are(first), [this](std::size_t place) {
      if (earlier_.are_to_be_added() && !call_->loss_scale) earlier_.add(place);
    });
    first.replica->blocks().sleep();  // other devices get what they have changed
  });
}

GradientPlace TrainStep::where_gradients_are(const Call::Part& first) const {
  const bool here = first.replica->blocks().may_sleep() || pass_->gives_whole_gradients();
  return here ? GradientPlace::here : GradientPlace::spread;
}

void TrainStep::prepare_update() {
  Call::Part& first = call_->part(0);
  ParameterUpdate& update = engine_->gradients.update();
  engine_->gradients.adopt(*call_);
  if (earlier_.are_to_be_added()) earlier_.add(first, where_gradients_are(first));
  if (pass_->gives_whole_gradients())
    update.made_whole();
  else if (engine_->gradients.reduces())
    update.reduced();
  if (optimizer_ == nullptr) return;
  in_phase(first, Phase::update, [&] { optimizer_->prepare(); });
  call_->shared_update = update.is_shared() && optimizer_->updates_through(*update.sharing());
}

void TrainStep::pass_outside(Call::Part& part) {
  if (!call_->has_outside()) return;
  if (part.is_first()) {
    try {
      in_phase(part, Phase::backward, [&] {
        parallel::pass_outside(call_->outside(), outside_factor());
      });
      optimizer_->prepare();  // it may be about to update them
    } catch (...) {
      part.commit_error = std::current_exception();
    }
  }
  try {
    vote(part);
  } catch (...) {  // the step takes effect: this cannot be taken back
    if (part.commit_error == nullptr) part.commit_error = std::current_exception();
  }
}

void TrainStep::update(Call::Part& part) {
  if (call_->shared_update) {
    try {
      std::exception_ptr error;
      note_update(part, [&] {
        error = optimizer_->update_on(part.device());
        engine_->gradients.update().note_written(part.index());
      });
      if (part.commit_error == nullptr) part.commit_error = std::move(error);
      engine_->gradients.update().gather_values(*part.comm, part.index());
    } catch (...) {
      if (part.commit_error == nullptr) part.commit_error = std::current_exception();
    }
  } else if (part.is_first() && part.commit_error == nullptr) {
    part.commit_error = optimizer_->commit();
  }
}

StepResult TrainStep::result() {
  StepResult result;
  std::vector<ForwardTime> times;
  for (const Call::Part& part : call_->parts) {
    times.push_back({part.device(), part.row_count(), part.forward_time});
    result.rows.push_back(part.row_count());
  }
  const WholeStep whole = call_->processes->loss_of(*call_);
  result.weight = whole.weight;
  result.loss = whole.sum / whole.weight;
  result.skipped = call_->has_no_effect;
  result.non_finite = engine_->non_finite.find(*call_);
  result.straggler = find_straggler(times, engine_->options.checks.straggler_ratio);
  engine_->non_finite.check(*call_, result.non_finite);
  return result;
}

void TrainStep::commit() {
  if (call_->shared_update)
    call_->part(0).commit_error = optimizer_->end_commit(call_->commit_error());
  engine_->calls.commit(*call_);
  engine_->gradients.note_backward();
  engine_->drift.note_step();
  if (optimizer_ == nullptr && call_->has_outside())
    parallel::pass_outside(call_->outside(), outside_factor());
}

double TrainStep::outside_factor() const {
  return pass_->outside_factor(*call_) / call_->loss_scale.value_or(1);
}

}  // namespace tandem::parallel
