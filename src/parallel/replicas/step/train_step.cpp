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

TrainStep::TrainStep(const Parts& parts,
                     std::shared_ptr<Call> call,
                     std::unique_ptr<GradientPass> pass,
                     optim::Optimizer* optimizer,
                     optim::GradScaler* scaler,
                     Effect effect)
    : parts_(parts),
      call_(std::move(call)),
      pass_(std::move(pass)),
      optimizer_(optimizer),
      scaler_(scaler) {
  const auto hooks = std::make_shared<const ParameterHooks>(parts_.parameters.arena());
  if (hooks->any()) call_->hooks = hooks;
  call_->has_no_effect = effect == Effect::none;
  if (scaler_ != nullptr) call_->loss_scale = scaler_->get_scale();
  parts_.drift.begin(*call_);
}

StepResult TrainStep::take(const std::shared_ptr<TrainStep>& step,
                           CallGate::Pass& gate,
                           const std::shared_ptr<const void>& owner) {
  const Parts& parts = step->parts_;
  const ReducesNow reduces(parts.gradients, step->call_->hooks != nullptr);
  step->prepare();
  gate.show(step->call_);
  const ModuleBuffers::Shown buffers(parts.buffers);
  StepResult result;
  try {
    parts.runner.run(
        step->call_, Phase::replicate, [step, owner](Call::Part& part) { step->on_device(part); });
    result = step->result();
  } catch (...) {
    parts.gradients.restore(step->earlier_);
    throw;
  }
  if (step->scaler_ != nullptr) step->scaler_->update(step->call_->overflow());
  if (result.skipped) {
    parts.gradients.restore(step->earlier_);
    parts.runner.check_usable();
  } else {
    step->commit();
  }
  return result;
}

void TrainStep::prepare() {
  if (optimizer_ != nullptr) optimizer_->zero_grad();
  // Earlier gradients are not to be rescaled with those of the parts, nor added to them in their
  // order.
  const bool anew = pass_->begins_anew(*call_) || call_->loss_scale || call_->hooks != nullptr ||
                    call_->world != nullptr;
  if (anew && parts_.gradients.reduces()) parts_.gradients.sync();
  earlier_ = parts_.gradients.begin_backward();
  if (anew) earlier_.clear();
  adds_earlier_ = anew && earlier_.any();
  parts_.buffers.expect_writes(*call_);
}

void TrainStep::on_device(Call::Part& part) {
  const SleepAtEnd sleep(part.replica->sleeping().get());
  exchange_rows(part);
  in_phase(part, Phase::replicate, [&] {
    parts_.parameters.send(*call_, part);
    parts_.buffers.send(*call_, part);
  });
  DriftCheck::hash_buffers(*call_, part);
  pass_->run(*call_, part);  // scatter, forward, loss, backward
  parts_.parameters.end_send(*call_, part);
  reduce(part);
  const bool updates_shares = optimizer_ != nullptr && parts_.gradients.update().is_shared();
  if (updates_shares || adds_earlier_) vote(part);  // device 0 uses the gradients of all devices
  if (part.is_first()) prepare_update();
  agree(*call_, part);
  part.leaf_sums.clear();
  if (call_->has_no_effect) return;
  parts_.buffers.merge(*call_, part);
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
  parts_.non_finite.inspect_gradients(*call_, part);
  parts_.buffers.combine(*call_, part);
  parts_.drift.check(*call_, part);
}

void TrainStep::run_hooks(Call::Part& first) {
  parts_.gradients.adopt(*call_);
  in_phase(first, Phase::backward, [&] {
    call_->hooks->run(where_gradients_are(first), [this](std::size_t place) {
      if (adds_earlier_ && !call_->loss_scale) earlier_.add(place);
    });
    share_gradients(first);
  });
}

GradientPlace TrainStep::where_gradients_are(const Call::Part& first) const {
  const bool here = first.replica->sleeping() != nullptr || pass_->gives_whole_gradients();
  return here ? GradientPlace::here : GradientPlace::spread;
}

void TrainStep::add_earlier(Call::Part& first) {
  in_phase(first, Phase::reduce, [&] {
    const GradientReads::AsTheyLie scope = parts_.gradients.as_they_lie();
    if (!parts_.gradients.reduces()) return earlier_.add();
    earlier_.add(where_gradients_are(first));
    share_gradients(first);
  });
}

void TrainStep::share_gradients(const Call::Part& first) {
  if (const auto& blocks = first.replica->sleeping()) blocks->sleep();
}

void TrainStep::prepare_update() {
  Call::Part& first = call_->part(0);
  ParameterUpdate& update = parts_.gradients.update();
  parts_.gradients.adopt(*call_);
  if (adds_earlier_) add_earlier(first);
  if (pass_->gives_whole_gradients())
    update.made_whole();
  else if (parts_.gradients.reduces())
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
        parts_.gradients.update().note_written(part.index());
      });
      if (part.commit_error == nullptr) part.commit_error = std::move(error);
      parts_.gradients.update().gather_values(*part.comm, part.index());
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
  double sum = 0;
  for (const Call::Part& part : call_->parts) {
    times.push_back({part.device(), part.row_count(), part.forward_time});
    sum += part.sum;
    result.weight += part.weight;
    result.rows.push_back(part.row_count());
  }
  if (call_->world != nullptr) {
    sum = call_->part(0).agreed.sum;
    result.weight = call_->part(0).agreed.weight;
  }
  result.loss = sum / result.weight;
  result.skipped = call_->has_no_effect;
  result.non_finite = parts_.non_finite.find(*call_);
  result.straggler = find_straggler(times, parts_.straggler_ratio);
  parts_.non_finite.check(*call_, result.non_finite);
  return result;
}

void TrainStep::commit() {
  if (call_->shared_update)
    call_->part(0).commit_error = optimizer_->end_commit(call_->commit_error());
  parts_.calls.commit(*call_);
  parts_.gradients.note_backward();
  parts_.drift.note_step();
  if (optimizer_ == nullptr && call_->has_outside())
    parallel::pass_outside(call_->outside(), outside_factor());
}

double TrainStep::outside_factor() const {
  return pass_->outside_factor(*call_) / call_->loss_scale.value_or(1);
}

}  // namespace tandem::parallel
