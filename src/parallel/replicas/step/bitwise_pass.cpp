// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/step/bitwise_pass.hpp"

#include "tandem/autograd/autograd.hpp"
#include "tandem/autograd/tape_context.hpp"
#include "tandem/ops/arithmetic.hpp"

// Note [Bitwise]: bits depend on the order of sums, and a sum over rows is a sum inside of some op.
// So the batch is cut into leaves that are the same for any number of devices; a leaf is calculated
// whole, by one thread, and all that leaves have to do with each other is a sum in a fixed tree.
namespace tandem::parallel {

using Used = GradientTally::Used;

void BitwisePass::run_leaf(Call& call, Call::Part& part, std::size_t leaf) {
  DeviceReplica& replica = *part.replica;
  part.at = leaves_[leaf].rows;
  const ContextScope scope([&](Context& c) {
    c.rows = part.at;
    autograd::change_tape_context(c, [](autograd::TapeContext& t) { t.row_group = nullptr; });
    c.threads = 1;
    c.frame = std::make_shared<ForwardFrame>(*c.frame);
  });
  replica.drop_gradients();
  replica.arm({}, 1, part.leaf_sums.empty() ? Used::fresh : Used::kept);
  replica.reducer()->begin_backward();
  ReplicaLoss loss = loss_of(call, part);
  part.frame->drew |= context().frame->drew;
  const Tensor root = loss.part.sum / static_cast<double>(call.batch.size());
  in_phase(part, Phase::backward, [&] { root.backward(); });
  const double sum = value_of(call, part, loss);
  losses_[leaf] = {sum, loss.weight()};
  in_phase(part, Phase::reduce, [&] {
    const autograd::NoGrad off;
    const ContextScope category([](Context& c) { c.category = Category::gradient; });
    replica.reducer()->finish();
    const optim::Arena& arena = *replica.parameters();
    std::vector<Tensor> gradients;
    for (const Tensor& g : arena.grads())
      if (g.defined()) gradients.push_back(g.clone());
    part.leaf_sums.add(leaf, std::move(gradients));
  });
}

void BitwisePass::run(Call& call, Call::Part& part) {
  part.replica->arm({}, 1, Used::fresh);
  for (std::size_t leaf = 0; leaf < leaves_.size(); ++leaf)
    if (leaves_[leaf].device == part.index()) run_leaf(call, part, leaf);
  vote(part);  // all have their sums
  if (part.is_first())
    join_leaves(call, part);
  else
    part.replica->blocks().discard_gradients(false);  // device 0 has their sums
}

void BitwisePass::join_leaves(Call& call, Call::Part& first) {
  for (const auto& [sum, weight] : losses_) {
    first.sum += sum;
    first.weight += weight;
  }
  in_phase(first, Phase::loss, [&] { non_finite().inspect_weight(call, first, first.weight); });
  const DeviceReplica& replica = *first.replica;
  in_phase(first, Phase::reduce, [&] {
    const autograd::NoGrad off;
    const ContextScope category([](Context& c) { c.category = Category::gradient; });
    LeafSums all;
    for (const Call::Part& part : call.parts)
      all.append_copy(part.leaf_sums, first.device());
    const std::vector<Tensor> totals = all.total();
    const double factor = static_cast<double>(call.batch.size()) / first.weight;
    replica.drop_gradients();
    std::size_t k = 0;
    for (Tensor g : replica.parameters()->grads())
      if (g.defined()) g.copy_(totals[k++]).mul_(factor);
  });
}

double BitwisePass::outside_factor(const Call& call) const {
  return static_cast<double>(call.batch.size()) / call.part(0).weight;
}

}  // namespace tandem::parallel
