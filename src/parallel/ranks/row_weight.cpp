// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/ranks/row_weight.hpp"

#include <string_view>
#include <unordered_set>
#include <vector>

#include "tandem/autograd/autograd.hpp"
#include "tandem/ops/arithmetic.hpp"

#include "autograd/node.hpp"

namespace tandem::parallel {
namespace {

constexpr const char* kWeighted = "weighted";

Tensor scale_gradient(const char* name, const Tensor& x, double factor) {
  return autograd::record(name,
                          as_strided(x, x.shape(), x.strides(), x.impl().offset),
                          {x},
                          [factor](const Tensor& dy) { return autograd::Gradients{dy * factor}; });
}

bool has_weighted_outputs(const Tensor& x) {
  std::vector<const autograd::Node*> open{autograd::edge_of(x).node.get()};
  std::unordered_set<const autograd::Node*> seen{nullptr};  // null: no op has made the tensor
  while (!open.empty()) {
    const autograd::Node* node = open.back();
    open.pop_back();
    if (!seen.insert(node).second) continue;
    if (std::string_view(node->name) == kWeighted) return true;
    for (const autograd::Edge& input : node->inputs)
      open.push_back(input.node.get());
  }
  return false;
}

}  // namespace

Tensor weighted(const Tensor& y, double weight) {
  return weight == 1 || !y.requires_grad() ? y : scale_gradient(kWeighted, y, weight);
}

Tensor unweighted(const Tensor& x, double weight) {
  const bool scales = weight != 1 && weight != 0 && x.defined() && x.requires_grad();
  return scales && has_weighted_outputs(x) ? scale_gradient("unweighted", x, 1 / weight) : x;
}

}  // namespace tandem::parallel
