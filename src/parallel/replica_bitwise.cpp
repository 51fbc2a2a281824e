// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/ops/elementwise.hpp"

#include "parallel/replica_state.hpp"

// Note [Bitwise]: bits depend on the order of sums, and a sum over rows is a sum inside of some op.
// So the batch is cut into leaves that are the same for any number of devices; a leaf is calculated
// whole, by one thread, and all that leaves have to do with each other is a sum in a fixed tree.
namespace tandem::parallel {

std::vector<RowRange> ReplicaSet::State::cut_into_leaves(const std::vector<RowRange>& rows,
                                                         StepOutcome& outcome) const {
  TANDEM_CHECK(options.accumulate == 1,
               "DataParallel: bitwise_leaves and accumulate both cut the batch; give one of them");
  TANDEM_CHECK(
      master_buffers == nullptr || !modules[0]->is_training(),
      "DataParallel: the bitwise mode has no rule for buffers that change in training; the "
      "module has some (batch norm's running statistics). Use a norm without, or leave "
      "bitwise_leaves at 0");
  outcome.leaves = cut_leaves(rows, options.bitwise_leaves);
  outcome.leaf_losses.resize(outcome.leaves.size());
  outcome.sums_of_leaves.resize(devices.size());
  return rows_of(outcome.leaves, devices.size());
}

void ReplicaSet::State::run_leaf(
    Call& call, int rank, std::size_t leaf, const LossBody& body, StepOutcome& outcome) {
  const auto r = static_cast<std::size_t>(rank);
  const RowRange rows = outcome.leaves[leaf].rows;
  call.at[r] = rows;
  const ContextScope scope([&](Context& c) {
    c.rows = rows;
    c.row_group = nullptr;
    c.threads = 1;
    c.frame = std::make_shared<ForwardFrame>(*c.frame);
  });
  if (params[r] != nullptr) {
    drop_gradients(rank);
    reducers[r].arm(
        nullptr,
        1,
        outcome.sums_of_leaves[r].empty() ? BucketReducer::Used::fresh : BucketReducer::Used::kept);
    reducers[r].begin_backward();
  }
  const auto [part, sum, weight] = loss_of(call, rank, body);
  call.frames[r]->drew |= context().frame->drew;
  outcome.leaf_losses[leaf] = {sum, weight};
  const Tensor share = part.sum / static_cast<double>(call.batch_rows());
  in_phase(call, rank, Phase::backward, [&] { share.backward(); });
  if (params[r] == nullptr) return;
  in_phase(call, rank, Phase::reduce, [&] {
    const autograd::NoGrad off;
    const ContextScope category([](Context& c) { c.category = Category::gradient; });
    reducers[r].finish();
    std::vector<Tensor> gradients;
    for (std::size_t b = 0; b < params[r]->layout().blocks().size(); ++b)
      if (const Tensor& g = params[r]->grads(static_cast<int>(b)); g.defined())
        gradients.push_back(g.clone());
    outcome.sums_of_leaves[r].add(leaf, std::move(gradients));
  });
}

void ReplicaSet::State::run_leaves(Call& call,
                                   int rank,
                                   const LossBody& body,
                                   StepOutcome& outcome) {
  if (!reducers.empty())
    reducers[static_cast<std::size_t>(rank)].arm(nullptr, 1, BucketReducer::Used::fresh);
  for (std::size_t leaf = 0; leaf < outcome.leaves.size(); ++leaf)
    if (outcome.leaves[leaf].device == rank) run_leaf(call, rank, leaf, body, outcome);
  vote(call, rank);  // all have their sums
  if (rank == 0) join_leaves(call, outcome);
}

void ReplicaSet::State::join_leaves(Call& call, StepOutcome& outcome) {
  double sum = 0, weight = 0;
  for (const auto& [s, w] : outcome.leaf_losses) {
    sum += s;
    weight += w;
  }
  outcome.sums[0] = sum;
  outcome.weights[0] = weight;
  in_phase(call, 0, Phase::loss, [&] { inspect_weight(call, 0, weight); });
  if (params[0] == nullptr) return;
  in_phase(call, 0, Phase::reduce, [&] {
    const autograd::NoGrad off;
    const ContextScope category([](Context& c) { c.category = Category::gradient; });
    LeafSums all;
    for (const LeafSums& own : outcome.sums_of_leaves)
      all.append_copy(own, devices[0]);
    const std::vector<Tensor> totals = all.total();
    const double factor = static_cast<double>(call.batch_rows()) / weight;
    drop_gradients(0);
    std::size_t k = 0;
    for (std::size_t b = 0; b < params[0]->layout().blocks().size(); ++b) {
      Tensor g = params[0]->grads(static_cast<int>(b));
      if (g.defined()) g.copy_(totals[k++]).mul_(factor);
    }
  });
}

}  // namespace tandem::parallel
