// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/step/forward_call.hpp"

#include <utility>

#include "tandem/core/check.hpp"

namespace tandem::parallel {

ForwardCall::ForwardCall(std::shared_ptr<Engine> engine,
                         const std::vector<RowRange>& rows,
                         Body body)
    : engine_(std::move(engine)), call_(engine_->calls.open(rows)), body_(std::move(body)) {
  // Without gradients a process may look at its own batches, as often as it likes.
  if (context().grad_enabled) engine_->processes->enter(*call_);
}

void ForwardCall::take(const std::shared_ptr<ForwardCall>& forward,
                       CallGate::Pass& gate,
                       const std::function<void()>& gather) {
  const std::shared_ptr<Call>& call = forward->call_;
  Engine& engine = *forward->engine_;
  gate.show(call);
  engine.buffers.expect_writes(*call);
  const ModuleBuffers::Shown buffers(engine.buffers);
  engine.runner.run(
      call, Phase::replicate, [forward](Call::Part& part) { forward->on_device(part); });
  if (gather != nullptr) gather();
  engine.buffers.merge(*call, call->part(0));
  engine.calls.commit(*call);
}

void ForwardCall::on_device(Call::Part& part) {
  const SleepAtEnd sleep(part.replica->blocks());
  exchange_rows(*call_, part);
  TANDEM_CHECK(part.whole.idle_process < 0,
               "DataParallel: process ",
               part.whole.idle_process,
               " has no rows of this batch, and its backward would wait for a loss of none; give "
               "each process a row, or use step, which takes parts without rows");
  const ContextScope scope([&](Context& c) {  // which the runner has told of this process's rows
    if (call_->processes->are_several()) enter_rows(c, *call_, part, part.rows, call_->group);
  });
  in_phase(part, Phase::replicate, [&] {
    engine_->parameters.send(*call_, part);
    engine_->buffers.send(*call_, part);
  });
  if (part.active) in_phase(part, Phase::forward, [&] { body_(part.argument()); });
  engine_->parameters.end_send(*call_, part);
  engine_->buffers.combine(*call_, part);
  agree(*call_, part);
}

}  // namespace tandem::parallel
