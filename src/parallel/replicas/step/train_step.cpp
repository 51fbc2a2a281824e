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
                     std::unique_ptr<StepUpdate> update,
                     Effect effect)
    : engine_(std::move(engine)),
      call_(std::move(call)),
      pass_(std::move(pass)),
      update_(std::move(update)),
      hooks_(engine_->parameters.arena()),
      earlier_(engine_->gradients) {
  call_->has_no_effect = effect == Effect::none;
  engine_->drift.begin(*call_);
}

StepResult TrainStep::take(const std::shared_ptr<TrainStep>& step, CallGate::Pass& gate) {
  Engine& engine = *step->engine_;
  const ReducesNow reduces(engine.gradients, step->hooks_.any());
  step->prepare();
  gate.show(step->call_);
  const ModuleBuffers::Shown buffers(engine.buffers);
  StepResult result;
  try {
    engine.runner.run(
        step->call_, Phase::replicate, [step](Call::Part& part) { step->on_device(part); });
    result = step->result();
  } catch (...) {
    step->cancel();
    throw;
  }
  step->update_->note_overflow(step->call_->overflow());
  if (result.skipped) {
    step->cancel();
    engine.runner.check_usable();
  } else {
    step->commit();
  }
  return result;
}

void TrainStep::prepare() {
  update_->begin(*call_);
  // Earlier gradients are not to be rescaled with those of the parts, nor added to them in their
  // order.
  earlier_.begin(pass_->begins_anew(*call_) || call_->loss_scale || hooks_.any() ||
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
  if (update_->is_shared(engine_->gradients.update()) || earlier_.are_to_be_added())
    vote(part);  // device 0 uses the gradients of all devices
  if (part.is_first()) prepare_update();
  agree(*call_, part);
  part.leaf_sums.clear();
  if (call_->has_no_effect) return;
  engine_->buffers.merge(*call_, part);
  update_->run(*call_, part, outside_factor());
}

void TrainStep::reduce(Call::Part& part) {
  if (hooks_.any()) {
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
    hooks_.run(where_gradients_are(first), [this](std::size_t place) {
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
  update_->prepare(*call_);
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
  update_->commit(*call_);
  engine_->calls.commit(*call_);
  engine_->gradients.note_backward();
  engine_->drift.note_step();
  update_->end(*call_, outside_factor());
}

void TrainStep::cancel() {
  earlier_.restore();
  if (engine_->runner.is_usable()) update_->cancel();  // else a device may still use it
}

double TrainStep::outside_factor() const {
  return pass_->outside_factor(*call_) / call_->loss_scale.value_or(1);
}

}  // namespace tandem::parallel
