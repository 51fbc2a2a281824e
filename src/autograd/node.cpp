// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "autograd/node.hpp"

#include <algorithm>
#include <iterator>

#include "tandem/core/check.hpp"

namespace tandem::autograd {

Meta* meta_of(const TensorImpl& impl) noexcept {
  return static_cast<Meta*>(impl.autograd.get());
}

Meta& make_meta(TensorImpl& impl) {
  if (impl.autograd == nullptr) impl.autograd = std::make_unique<Meta>();
  return *meta_of(impl);
}

Edge edge_of(const Tensor& x) {
  const Meta* meta = meta_of(x.impl());
  if (meta == nullptr || !meta->requires_grad) return {};
  if (meta->grad_fn == nullptr) return {nullptr, 0, x.shared()};
  return {meta->grad_fn, meta->output, nullptr};
}

Node::~Node() {
  // A long tape would free itself by recursion; unlink it step by step instead.
  std::vector<Edge> edges = std::move(inputs);
  while (!edges.empty()) {
    const Edge edge = std::move(edges.back());
    edges.pop_back();
    if (edge.node != nullptr && edge.node.use_count() == 1) {
      std::ranges::move(edge.node->inputs, std::back_inserter(edges));
      edge.node->inputs.clear();
    }
  }
}

void Node::spend(const std::vector<Tensor>& dys) noexcept {
  if (!separate_outputs) return release();
  for (std::size_t i = 0; i < dys.size(); ++i)
    if (dys[i].defined()) spent[i] = true;
  if (std::ranges::all_of(spent, [](bool s) { return s; })) release();
}

void Node::release() noexcept {
  formula = nullptr;
  fused = nullptr;
  output_formula = nullptr;
  output_fused = nullptr;
  output = Saved();
  released = true;
}

Gradients Node::run(const std::vector<Tensor>& dys, bool create_graph) {
  TANDEM_CHECK(!released,
               "backward: the tape of '",
               name,
               "' was released by an earlier backward; pass retain_graph to that backward");
  if (!output_formula) return !create_graph && fused ? fused(dys) : formula(dys);
  Tensor y = output.get();
  if (create_graph) {
    y = y.detach();
    Meta& meta = make_meta(y.impl());
    meta.requires_grad = true;
    meta.grad_fn = shared_from_this();
  }
  return !create_graph && output_fused ? output_fused(dys.front(), y)
                                       : output_formula(dys.front(), y);
}

void separate_outputs(const std::vector<Tensor>& ys) {
  for (const Tensor& y : ys) {
    const Edge edge = edge_of(y);
    if (edge.node == nullptr) continue;
    edge.node->separate_outputs = true;
    edge.node->spent.resize(ys.size(), true);  // what is not on the tape has no backward
    edge.node->spent[static_cast<std::size_t>(edge.output)] = false;
  }
}

}  // namespace tandem::autograd
