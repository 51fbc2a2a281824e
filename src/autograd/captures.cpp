// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "autograd/captures.hpp"

#include <algorithm>

#include "tandem/core/check.hpp"

#include "autograd/outside_tensors.hpp"

namespace tandem::autograd {

Captures::Captures(std::vector<Tensor> tensors)
    : tensors_(std::move(tensors)), results_(tensors_.size()) {
  for (const Tensor& x : tensors_) {
    TANDEM_CHECK(x.requires_grad(), "grad: an input (", x.describe(), ") does not require grad");
    edges_.push_back(edge_here(x));
  }
}

bool Captures::has(const Edge& edge) const {
  return std::ranges::find(edges_, edge) != edges_.end();
}

bool Captures::has_leaf(const TensorImpl* leaf) const {
  return std::ranges::any_of(edges_, [leaf](const Edge& e) { return e.leaf.get() == leaf; });
}

void Captures::note(const Node& node, std::size_t output, const Tensor& gradient) {
  for (std::size_t i = 0; i < edges_.size(); ++i) {
    if (edges_[i].node.get() != &node || edges_[i].output != static_cast<int>(output)) continue;
    const std::scoped_lock lock(mutex_);
    results_[i] = gradient;
  }
}

void Captures::note(const std::shared_ptr<TensorImpl>& leaf, const Tensor& gradient) {
  const std::scoped_lock lock(mutex_);
  for (std::size_t i = 0; i < edges_.size(); ++i)
    if (edges_[i].leaf == leaf) results_[i] = gradient;
}

}  // namespace tandem::autograd
