// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/call/outside_gradients.hpp"

#include <algorithm>

#include "tandem/autograd/autograd.hpp"
#include "tandem/autograd/tape_context.hpp"
#include "tandem/runtime/context.hpp"

namespace tandem::parallel {

std::vector<OutsideTensor> outside_tensors(const OutsideByDevice& devices) {
  std::vector<OutsideTensor> all;
  for (std::size_t d = 0; d < devices.size(); ++d) {
    if (devices[d] == nullptr) continue;
    for (const auto& [outside, leaf] : devices[d]->entries()) {
      auto known = std::ranges::find(all, autograd::edge_of(outside), [](const OutsideTensor& o) {
        return autograd::edge_of(o.outside);
      });
      if (known == all.end())
        known = all.insert(all.end(), {outside, std::vector<Tensor>(devices.size())});
      known->leaves[d] = leaf;
    }
  }
  return all;
}

void scale_outside(const std::shared_ptr<autograd::OutsideTensors>& own, double factor) {
  if (own == nullptr) return;
  const autograd::NoGrad off;
  for (const auto& entry : own->entries())
    if (Tensor gradient = entry.leaf.grad(); gradient.defined()) gradient.mul_(factor);
}

void pass_outside(const OutsideByDevice& devices, double factor) {
  std::vector<Tensor> roots, gradients;
  {
    const autograd::NoGrad off;
    const ContextScope scope([](Context& c) { c.category = Category::gradient; });
    for (const auto& [outside, leaves] : outside_tensors(devices)) {
      Tensor sum;
      for (const Tensor& leaf : leaves) {
        if (!leaf.defined() || !leaf.grad().defined()) continue;
        sum = sum.defined() ? sum.add_(leaf.grad()) : leaf.grad();
      }
      if (!sum.defined()) continue;
      roots.push_back(outside);
      gradients.push_back(factor == 1 ? sum : sum.mul_(factor));
    }
  }
  if (roots.empty()) return;
  const ContextScope scope([](Context& c) {  // their own tape
    autograd::change_tape_context(c, [](autograd::TapeContext& t) { t.outside = nullptr; });
  });
  autograd::backward(roots, gradients);
}

}  // namespace tandem::parallel
