// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "tandem/autograd/autograd.hpp"
#include "tandem/autograd/row_group.hpp"
#include "tandem/core/check.hpp"
#include "tandem/ops/elementwise.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"

#include "ops/autocast.hpp"
#include "parallel/replica_state.hpp"

// Note [Micro-batches]: the weight of the whole batch is known only after the forward of the last
// micro-batch. Until then gradients are divided by the batch's rows, by the same number in all
// replicas, since synchronised batch norm adds up what it makes of them; before the last backward,
// whose gradients are reduced, they are rescaled to the batch's weight. All parts have the same
// position of random numbers and their own rows of the batch, so dropout masks are the whole
// batch's.
namespace tandem::parallel {

Tensor ReplicaSet::State::total_weight(Call& call, int rank, double own) const {
  const auto group = call.group->rows.find(rank);
  Tensor total =
      scalar(own, {.dtype = DType::f64, .device = devices[static_cast<std::size_t>(rank)]});
  if (group != call.group->rows.end()) total = group->second->all_reduce_sum(total);
  // A total of 0 shows on a replica whose own weight is not above 0; others need not read theirs.
  if (!(own > 0)) inspect_weight(call, rank, total.item());
  return total;
}

void ReplicaSet::State::rescale_gradients(const Call& call, int rank, const Tensor& total) const {
  const auto r = static_cast<std::size_t>(rank);
  if (!call.accumulates()) return;
  const autograd::NoGrad off;
  const double factor = static_cast<double>(call.batch_rows()) / total.item();
  for (std::size_t b = 0; params[r] != nullptr && b < params[r]->layout().blocks().size(); ++b) {
    Tensor grads = params[r]->grads(static_cast<int>(b));
    if (grads.defined()) grads.mul_(factor);
  }
  scale_outside(call.outside, r, factor);
}

ReplicaLoss ReplicaSet::State::loss_of(Call& call, int rank, const LossBody& body) {
  ReplicaLoss loss;
  loss.part = in_phase(call, rank, Phase::forward, [&] { return body(replica(call, rank)); });
  in_phase(call, rank, Phase::loss, [&] {
    TANDEM_CHECK(loss.part.sum.defined() && loss.part.sum.numel() == 1,
                 "step: the loss must be a scalar, it is ",
                 loss.part.sum.describe());
    loss.sum = loss.part.sum.detach().item();
    loss.weight = loss.part.weight.item();
    inspect_loss(call, rank, loss.sum);
    if (call.loss_scale) loss.part.sum = widened(loss.part.sum) * *call.loss_scale;
  });
  return loss;
}

void ReplicaSet::State::run_micro_batch(
    Call& call, int rank, std::size_t index, const LossBody& body, StepOutcome& outcome) {
  const auto r = static_cast<std::size_t>(rank);
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  auto [part, sum, weight] = loss_of(call, rank, body);
  const auto forward_time = Clock::now() - begin;
  outcome.times[r] += forward_time;
  in_phase(call, rank, Phase::loss, [&, &part = part, &sum = sum, &weight = weight] {
    outcome.sums[r] += sum;
    outcome.weights[r] += weight;
    if (index + 1 == call.micro_batches.size()) {
      // The whole batch's weight, so that the gradients need no division afterwards.
      const Tensor total = total_weight(call, rank, outcome.weights[r]);
      rescale_gradients(call, rank, total);
      part.sum = part.sum / total.to(part.sum.dtype());
    } else {
      part.sum = part.sum / static_cast<double>(call.batch_rows());
    }
  });
  const auto turn = Clock::now();
  in_phase(call, rank, Phase::backward, [&, &part = part] {
    part.sum.backward();
    if (call.has_no_effect) logical_device(devices[r]).stream().synchronize("backward");
  });
  outcome.work_times[r] += forward_time + (Clock::now() - turn);
}

void ReplicaSet::State::forward_and_backward(Call& call,
                                             int rank,
                                             const LossBody& body,
                                             StepOutcome& outcome) {
  const auto r = static_cast<std::size_t>(rank);
  const std::size_t count = call.micro_batches.size();
  for (std::size_t k = 0; k < count; ++k) {
    const MicroBatch& part = call.micro_batches[k];
    if (!reducers.empty()) reducers[r].begin_backward();
    if (part.active(rank)) {
      call.at[r] = part.rows[r];
      const ContextScope scope([&](Context& c) {
        const auto group = part.group->rows.find(rank);
        c.rows = part.rows[r];
        c.row_group = group == part.group->rows.end() ? nullptr : group->second;
        c.frame = std::make_shared<ForwardFrame>(*c.frame);
      });
      run_micro_batch(call, rank, k, body, outcome);
      call.frames[r]->drew |= context().frame->drew;
    }
    if (k + 1 < count) follow_buffers(call, rank, part);
  }
  if (call.active(rank) && !call.micro_batches.back().active(rank)) {
    in_phase(call, rank, Phase::loss, [&] {
      rescale_gradients(call, rank, total_weight(call, rank, outcome.weights[r]));
    });
  }
}

void ReplicaSet::State::step_replica(
    Call& call, int rank, const LossBody& body, optim::Optimizer* optimizer, StepOutcome& outcome) {
  replicate(call, rank);
  hash_buffers(call, rank);
  if (is_bitwise()) {
    run_leaves(call, rank, body, outcome);
  } else {
    arm(call, rank);
    forward_and_backward(call, rank, body, outcome);
    reduce(call, rank);
  }
  end_replicate(call, rank);
  run_hooks(call, rank);
  inspect_gradients(call, rank);
  combine_buffers(call, rank);
  check_drift(call, rank);
  if (sharing != nullptr && optimizer != nullptr)
    vote(call, rank);  // the update looks at all shares
  if (rank == 0) {
    adopt_gradients(call);
    if (sharing != nullptr && syncs && !is_bitwise()) sharing->reduced();
    if (optimizer != nullptr) in_phase(call, rank, Phase::update, [&] { optimizer->prepare(); });
    call.shared_update =
        optimizer != nullptr && sharing != nullptr && optimizer->updates_through(*sharing);
  }
  agree(call, rank);
  if (is_bitwise()) outcome.sums_of_leaves[static_cast<std::size_t>(rank)].clear();
  if (call.has_no_effect) return;
  merge_buffers(call, rank);
  if (optimizer == nullptr) return;
  pass_outside(call, rank, outcome, *optimizer);
  in_phase(call, rank, Phase::update, [&] { update(call, rank, *optimizer); });
}

}  // namespace tandem::parallel
