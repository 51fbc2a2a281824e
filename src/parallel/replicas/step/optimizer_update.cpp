// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/step/optimizer_update.hpp"

#include <utility>

namespace tandem::parallel {

void OptimizerUpdate::begin(Call& call) {
  if (scaler_ != nullptr) call.loss_scale = scaler_->get_scale();
  optimizer_.zero_grad();
}

void OptimizerUpdate::prepare(Call& call) {
  in_phase(call.part(0), Phase::update, [&] { optimizer_.prepare(); });
  ParameterUpdate& update = gradients_.update();
  call.shared_update = update.is_shared() && optimizer_.updates_through(*update.sharing());
}

void OptimizerUpdate::run(Call& call, Call::Part& part, double outside) {
  if (call.has_outside()) pass_outside(call, part, outside);
  in_phase(part, Phase::update, [&] {
    if (call.shared_update)
      update_share(part);
    else if (part.is_first() && !part.commit_error)
      part.commit_error = optimizer_.commit();
  });
}

void OptimizerUpdate::pass_outside(const Call& call, Call::Part& part, double factor) {
  if (part.is_first()) {
    try {
      in_phase(part, Phase::backward, [&] { parallel::pass_outside(call.outside(), factor); });
      optimizer_.prepare();  // it may be about to update them
    } catch (...) {
      part.commit_error = std::current_exception();
    }
  }
  try {
    vote(part);
  } catch (...) {  // the step takes effect: this cannot be taken back
    part.note_commit_error(std::current_exception());
  }
}

void OptimizerUpdate::update_share(Call::Part& part) {
  ParameterUpdate& update = gradients_.update();
  try {
    std::exception_ptr error;
    note_update(part, [&] {
      error = optimizer_.update_on(part.device());
      update.note_written(part.index());
    });
    part.note_commit_error(std::move(error));
    update.gather_values(*part.comm, part.index());
  } catch (...) {
    part.note_commit_error(std::current_exception());
  }
}

void OptimizerUpdate::note_overflow(optim::GradScaler::Overflow overflow) {
  if (scaler_ != nullptr) scaler_->update(overflow);
}

void OptimizerUpdate::commit(Call& call) {
  if (call.shared_update) call.part(0).commit_error = optimizer_.end_commit(call.commit_error());
}

}  // namespace tandem::parallel
