// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/step/micro_batch_pass.hpp"

#include <chrono>

#include "tandem/autograd/autograd.hpp"
#include "tandem/autograd/row_group.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"

#include "parallel/replicas/call/processes.hpp"

// Note [Micro-batches]: gradients are divided by the whole batch's rows, by the same number in all
// replicas, since synchronised batch norm adds up what it makes of them. That is the mean of losses
// that are means, and no replica waits for another between its forward and its backward. The weight
// of losses that have their own is known only after all forwards of the last micro-batch: before
// the last backward, whose gradients are reduced, all are rescaled to it. All parts have the same
// position of random numbers and their own rows of the batch, so dropout masks are the whole
// batch's.
namespace tandem::parallel {
namespace {

using Clock = std::chrono::steady_clock;

/// Divides the gradients of earlier micro-batches by the batch's weight in place of its rows.
void rescale_gradients(const Call& call, const Call::Part& part, const Tensor& total_weight) {
  if (!call.accumulates()) return;
  const autograd::NoGrad off;
  const double factor = static_cast<double>(part.whole.rows) / total_weight.item_or(1);
  // A block without gradients may sleep: work on it would bring what the shares have.
  const std::vector<std::uint8_t> made = part.replica->blocks_with_gradients();
  for (std::size_t b = 0; b < made.size(); ++b)
    if (made[b] != 0) Tensor(part.replica->parameters()->grads(static_cast<int>(b))).mul_(factor);
  scale_outside(part.outside, factor);
}

/// Whether the part adds up its weight with the others'. Devices of several processes always do,
/// since those without rows do not know what the others' losses are.
bool waits_for_weights(const Call& call, const Call::Part& part) {
  return part.has_weighted_loss || call.processes->are_several();
}

/// Tells the other processes how many rows of a micro-batch the part has, if they take part.
///
/// @return the rows of all of them, or of this process.
std::int64_t exchange_micro_batch(const Call& call, Call::Part& part, std::size_t index) {
  const MicroBatch& micro_batch = call.micro_batches[index];
  if (!call.accumulates()) return part.whole.rows;
  const RowRange own = micro_batch.rows[static_cast<std::size_t>(part.index())];
  const std::int64_t here = micro_batch.rows.back().end - micro_batch.rows.front().begin;
  const WholeBatch whole = call.processes->exchange(part, own.size(), here);
  if (whole.rows > 0) part.last = whole;
  return whole.rows;
}

}  // namespace

Tensor MicroBatchPass::total_weight(Call& call, Call::Part& part, const Tensor& late) const {
  const autograd::NoGrad off;
  Tensor own = scalar(part.weight, {.dtype = DType::f64, .device = part.device()});
  if (late.defined()) own.add_(late.to(DType::f64).reshape({}));
  return call.processes->sum(call, part, own);
}

// It shows on a replica whose own weight is not above 0; others need not read theirs.
void MicroBatchPass::inspect_total(Call& call, Call::Part& part, const Tensor& total) const {
  if (!(part.weight > 0)) non_finite().inspect_weight(call, part, total.item_or(1));
}

void MicroBatchPass::run_micro_batch(Call& call, Call::Part& part, std::size_t index) const {
  const auto begin = Clock::now();
  ReplicaLoss loss = loss_of(call, part);
  Tensor& share = loss.part.sum;
  const bool is_late = !loss.knows_weight();  // it is read when backward is queued
  Tensor late_total;
  const auto forward_time = Clock::now() - begin;
  in_phase(part, Phase::loss, [&] {
    if (!is_late) part.weight += loss.weight();
    if (index + 1 == call.micro_batches.size() && waits_for_weights(call, part)) {
      // The whole batch's weight, so that the gradients need no division afterwards.
      const Tensor total = total_weight(call, part, is_late ? loss.part.weight : Tensor());
      if (is_late)
        late_total = total;
      else
        inspect_total(call, part, total);
      rescale_gradients(call, part, total);
      share = share / total.to(share.dtype());
    } else {
      share = share / static_cast<double>(part.whole.rows);
    }
  });
  const auto turn = Clock::now();
  in_phase(part, Phase::backward, [&] {
    share.backward();
    if (call.has_no_effect) logical_device(part.device()).stream().synchronize("backward");
  });
  part.work_time += forward_time + (Clock::now() - turn);
  // What a GPU's loss is waited for is time of its forward, and meetings in backward are not.
  const auto wait = Clock::now();
  part.sum += value_of(call, part, loss);
  if (is_late) {
    part.weight += loss.weight();
    if (late_total.defined())
      in_phase(part, Phase::loss, [&] { inspect_total(call, part, late_total); });
  }
  part.forward_time += forward_time + (Clock::now() - wait);
}

void MicroBatchPass::run(Call& call, Call::Part& part) {
  gradients_.arm(call, part);
  non_finite().watch(call, part);
  const std::size_t count = call.micro_batches.size();
  for (std::size_t k = 0; k < count; ++k) {
    const MicroBatch& micro_batch = call.micro_batches[k];
    part.replica->reducer()->begin_backward();
    const RowRange rows = micro_batch.rows[static_cast<std::size_t>(part.index())];
    const bool is_empty = exchange_micro_batch(call, part, k) == 0;
    if (micro_batch.has_rows(part.index())) {
      part.at = rows;
      const ContextScope scope([&](Context& c) {
        enter_rows(c, call, part, rows, *micro_batch.group);
        c.frame = std::make_shared<ForwardFrame>(*c.frame);
      });
      run_micro_batch(call, part, k);
      part.frame->drew |= context().frame->drew;
    }
    if (k + 1 < count && !is_empty) buffers_.follow(call, part, micro_batch);
  }
  if (!call.micro_batches.back().has_rows(part.index())) {
    in_phase(part, Phase::loss, [&] {
      if (waits_for_weights(call, part)) {
        const Tensor total = total_weight(call, part, {});
        inspect_total(call, part, total);
        rescale_gradients(call, part, total);
      } else if (part.active && part.whole.rows == 0) {
        non_finite().inspect_weight(call, part, 0);
      }
    });
  }
  finish_reduction(call, part);
}

}  // namespace tandem::parallel
