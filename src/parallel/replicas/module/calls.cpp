// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/module/calls.hpp"

#include "tandem/core/check.hpp"
#include "tandem/runtime/generator.hpp"

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
  parts_.runner.check_usable();
  if (is_laid_out_) parts_.module.check_tensors(parts_.parameters.arena(), parts_.buffers.arena());
}

// Buckets, shares and the replicas' storage are laid out for what trains. Where that fails, the
// next call tries again.
void Calls::follow_training() {
  if (is_laid_out_ && !parts_.module.training_changed(parts_.parameters.arena())) return;
  if (is_laid_out_) parts_.gradients.complete();
  is_laid_out_ = false;
  parts_.gradients.release();
  parts_.parameters.release();
  parts_.parameters.bind();
  parts_.gradients.bind();
  parts_.module.note_training(parts_.parameters.arena());
  for (const auto& replica : parts_.replicas)
    parts_.module.claim(replica->parameters());
  is_laid_out_ = true;
}

ReplicaGroup& Calls::group_for(const std::vector<RowRange>& rows, Members members) {
  // Those without rows have their share too, in mode sharded, or gradients of earlier backwards,
  // which a backward that is not reduced drops or adds to; and devices of other processes wait for
  // them.
  const bool everyone = parts_.world != nullptr || parts_.gradients.update().is_shared() ||
                        parts_.gradients.has_unreduced() || !parts_.gradients.reduces();
  return parts_.groups.get(rows, everyone ? Members::all : members);
}

// What is reduced or updated lies as the last call has left it.
std::shared_ptr<Call> Calls::open_everywhere() {
  check();
  return begin(std::vector<RowRange>(parts_.replicas.size()), Members::all);
}

std::shared_ptr<Call> Calls::open_changed() {
  return open(std::vector<RowRange>(parts_.replicas.size()), Members::all);
}

std::shared_ptr<Call> Calls::open(const std::vector<RowRange>& rows, Members members) {
  check();
  follow_training();
  return begin(rows, members);
}

std::shared_ptr<Call> Calls::begin(const std::vector<RowRange>& rows, Members members) {
  parts_.module.follow();
  auto call = std::make_shared<Call>(parts_.replicas, rows, group_for(rows, members));
  parts_.parameters.begin(*call);
  parts_.buffers.begin(*call);
  return call;
}

std::shared_ptr<Call> Calls::open_backward(const std::vector<RowRange>& rows) {
  check();
  TANDEM_CHECK(
      is_laid_out_,
      "DataParallel: parameters were frozen or unfrozen, and a call failed to lay them out "
      "again, so there is nothing to go back through; go forward again");
  return std::make_shared<Call>(parts_.replicas, rows, group_for(rows));
}

void Calls::commit(const Call& call) {
  if (const std::exception_ptr error = call.commit_error()) {
    parts_.runner.poison("the update failed after all replicas had agreed to it: " +
                         describe(error));
    std::rethrow_exception(error);
  }
  parts_.parameters.note_sent(call);
  if (call.shared_update) parts_.parameters.note_equal(call);
  if (!context().recomputes && (parts_.module.original().is_training() || call.drew()))
    default_generator().forwards().fetch_add(1, std::memory_order_relaxed);
  parts_.buffers.note_written(call);
}

}  // namespace tandem::parallel
