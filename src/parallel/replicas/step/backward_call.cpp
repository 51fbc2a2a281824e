// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/step/backward_call.hpp"

#include <utility>

namespace tandem::parallel {

BackwardCall::BackwardCall(std::shared_ptr<Engine> engine,
                           const std::vector<RowRange>& rows,
                           Body body,
                           Body prepare)
    : engine_(std::move(engine)),
      call_(engine_->calls.open_backward(rows)),
      body_(std::move(body)),
      prepare_(std::move(prepare)),
      earlier_(engine_->gradients) {}

void BackwardCall::take(const std::shared_ptr<BackwardCall>& backward, CallGate::Pass& gate) {
  gate.show(backward->call_);
  backward->prepare();
  try {
    backward->engine_->runner.run(backward->call_, Phase::backward, [backward](Call::Part& part) {
      backward->on_device(part);
    });
  } catch (...) {
    backward->earlier_.restore();
    throw;
  }
  backward->commit();
}

void BackwardCall::prepare() {
  // Earlier gradients are the same in all processes, and are not to be added up over them.
  earlier_.begin(engine_->processes->are_several());
  engine_->processes->enter(*call_);
}

void BackwardCall::on_device(Call::Part& part) {
  const SleepAtEnd sleep(part.replica->blocks());
  exchange_rows(*call_, part);
  if (prepare_) {
    if (part.active) prepare_(part.argument(part.share_of_process(*call_)));
    vote(part);
  }
  engine_->gradients.arm(*call_, part);
  part.replica->reducer()->begin_backward();
  if (part.active) body_(part.argument(part.share_of_process(*call_)));
  part.replica->blocks().check_unwritten();
  finish_reduction(*call_, part);
  if (earlier_.are_to_be_added()) {
    vote(part);  // device 0 uses the gradients of all devices
    if (part.is_first()) add_earlier(part);
  }
  agree(*call_, part);
}

void BackwardCall::add_earlier(Call::Part& first) {
  engine_->gradients.adopt(*call_);
  earlier_.add(first,
               first.replica->blocks().may_sleep() ? GradientPlace::here : GradientPlace::spread);
}

void BackwardCall::commit() {
  ModuleGradients& gradients = engine_->gradients;
  gradients.note_backward();
  gradients.adopt(*call_);
  if (gradients.reduces()) gradients.update().reduced();
}

}  // namespace tandem::parallel
