// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/step/calls.hpp"

#include "tandem/core/check.hpp"
#include "tandem/runtime/generator.hpp"

#include "parallel/replicas/step/engine.hpp"

namespace tandem::parallel {

void Calls::check_outside() {
  TANDEM_CHECK(context().rows.end < 0,
               "DataParallel: called inside a replica (rows ",
               context().rows.begin,
               " to ",
               context().rows.end,
               "), whose devices are busy; call the module itself instead");
}

void Calls::check() const {
  check_outside();
  engine_.runner.check_usable();
  if (is_laid_out_)
    engine_.wrapped.check_tensors(*engine_.parameters.arena(), *engine_.buffers.arena());
}

// Buckets, shares and the replicas' storage are laid out for what trains. Where that fails, the
// next call tries again.
void Calls::follow_training() {
  if (is_laid_out_ && !engine_.wrapped.training_changed(*engine_.parameters.arena())) return;
  if (is_laid_out_) engine_.gradients.complete();
  is_laid_out_ = false;
  engine_.gradients.release();
  engine_.parameters.release();
  engine_.parameters.bind();
  engine_.gradients.bind();
  engine_.wrapped.note_training(*engine_.parameters.arena());
  for (const auto& replica : engine_.replicas)
    engine_.wrapped.claim(*replica->parameters());
  is_laid_out_ = true;
}

ReplicaGroup& Calls::group_for(const std::vector<RowRange>& rows, Members members) {
  // Those without rows have their share too, in mode sharded, or gradients of earlier backwards,
  // which a backward that is not reduced drops or adds to; and devices of other processes wait for
  // them.
  const bool everyone = engine_.processes->are_several() ||
                        engine_.gradients.update().is_shared() ||
                        engine_.gradients.has_unreduced() || !engine_.gradients.reduces();
  return engine_.groups.get(rows, everyone ? Members::all : members);
}

// What is reduced or updated lies as the last call has left it.
std::shared_ptr<Call> Calls::open_everywhere() {
  check();
  return begin(std::vector<RowRange>(engine_.replicas.size()), Members::all);
}

std::shared_ptr<Call> Calls::open_changed() {
  return open(std::vector<RowRange>(engine_.replicas.size()), Members::all);
}

std::shared_ptr<Call> Calls::open(const std::vector<RowRange>& rows, Members members) {
  check();
  follow_training();
  return begin(rows, members);
}

std::shared_ptr<Call> Calls::begin(const std::vector<RowRange>& rows, Members members) {
  engine_.wrapped.follow();
  auto call = std::make_shared<Call>(engine_.replicas, rows, group_for(rows, members));
  engine_.parameters.begin(*call);
  engine_.buffers.begin(*call);
  return call;
}

std::shared_ptr<Call> Calls::open_backward(const std::vector<RowRange>& rows) {
  check();
  TANDEM_CHECK(
      is_laid_out_,
      "DataParallel: parameters were frozen or unfrozen, and a call failed to lay them out "
      "again, so there is nothing to go back through; go forward again");
  return std::make_shared<Call>(engine_.replicas, rows, group_for(rows));
}

void Calls::commit(const Call& call) {
  if (const std::exception_ptr error = call.commit_error()) {
    engine_.runner.poison("the update failed after all replicas had agreed to it: " +
                          describe(error));
    std::rethrow_exception(error);
  }
  engine_.parameters.note_sent(call);
  if (call.shared_update) engine_.parameters.note_equal(call);
  if (!context().recomputes && (engine_.wrapped.original().is_training() || call.drew()))
    default_generator().forwards().fetch_add(1, std::memory_order_relaxed);
  engine_.buffers.note_written(call);
}

}  // namespace tandem::parallel
