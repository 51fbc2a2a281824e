// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "tandem/core/check.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/access.hpp"

#include "autograd/checkpoint_state.hpp"
#include "autograd/node.hpp"
#include "autograd/outside_tensors.hpp"

namespace tandem::autograd {
namespace {

std::shared_ptr<Node> make_node(const char* name,
                                const std::vector<Tensor>& ys,
                                const std::vector<Tensor>& inputs) {
  auto node = std::make_shared<Node>();
  node->name = name;
  node->context = share_context();
  node->sequence = Runtime::instance().next_sequence();
  node->device = inputs.front().device();
  for (const Tensor& x : inputs) {
    node->inputs.push_back(x.defined() ? edge_here(x) : Edge{});
    node->input_shapes.push_back(x.defined() ? x.shape() : Shape{});
  }
  int output = 0;
  for (const Tensor& y : ys) {
    node->outputs.push_back({y.shape(), y.dtype(), y.device(), {}});
    Meta& meta = make_meta(y.impl());
    TANDEM_ASSERT(meta.grad_fn == nullptr && !meta.requires_grad,
                  name,
                  " recorded an output that is on the tape already");
    if (!is_float(y.dtype())) {
      ++output;
      continue;
    }
    meta.requires_grad = true;
    meta.grad_fn = node;
    meta.output = output++;
  }
  return node;
}

}  // namespace

NoGrad::NoGrad() : scope_([](Context& c) { c.grad_enabled = false; }) {}
EnableGrad::EnableGrad() : scope_([](Context& c) { c.grad_enabled = true; }) {}

Saved::Saved(const Tensor& x) {
  if (!x.defined()) return;
  const std::shared_ptr<Checkpoint>& checkpoint = context().checkpoint;
  // A leaf that trains stays anyway.
  if (checkpoint != nullptr && !(x.is_leaf() && x.requires_grad())) {
    slot_ = checkpoint->keep(x);
    return;
  }
  tensor_ = x;
  version_ = version_of(x);
}

const Tensor& Saved::get() const {
  const Tensor& x = slot_ == nullptr ? tensor_ : slot_->checkpoint->get(*slot_);
  TANDEM_CHECK(
      !x.defined() || version_of(x) == (slot_ == nullptr ? version_ : slot_->version),
      "backward: a tensor that it needs (",
      x.describe(),
      ") was changed in place after the forward; clone() it first, or change it after backward");
  return x;
}

bool should_record(const std::vector<Tensor>& inputs) {
  if (!context().grad_enabled) return false;
  return std::ranges::any_of(inputs,
                             [](const Tensor& x) { return x.defined() && x.requires_grad(); });
}

bool wants(const Tensor& x) {
  if (!x.defined() || !x.requires_grad()) return false;
  const auto& unwanted = context().unwanted;
  return unwanted == nullptr ||
         std::ranges::find(unwanted->edges, edge_of(x)) == unwanted->edges.end();
}

Tensor record(
    const char* name, Tensor y, std::vector<Tensor> inputs, Formula formula, Formula fused) {
  if (!should_record(inputs)) return y;
  const auto node = make_node(name, {y}, inputs);
  node->formula = [f = std::move(formula)](const std::vector<Tensor>& dys) {
    return f(dys.front());
  };
  if (fused)
    node->fused = [f = std::move(fused)](const std::vector<Tensor>& dys) { return f(dys.front()); };
  return y;
}

Tensor record(const char* name,
              Tensor y,
              std::vector<Tensor> inputs,
              OutputFormula formula,
              OutputFormula fused) {
  if (!should_record(inputs)) return y;
  const Tensor plain = y.detach();
  const auto node = make_node(name, {y}, inputs);
  node->output = Saved(plain);
  node->output_formula = std::move(formula);
  node->output_fused = std::move(fused);
  return y;
}

std::vector<Tensor> record(const char* name,
                           std::vector<Tensor> ys,
                           std::vector<Tensor> inputs,
                           MultiFormula formula,
                           MultiFormula fused) {
  if (!should_record(inputs)) return ys;
  const auto node = make_node(name, ys, inputs);
  node->formula = std::move(formula);
  node->fused = std::move(fused);
  return ys;
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
  TANDEM_CHECK(
      !released,
      "backward: the tape of '",
      name,
      "' was released by an earlier backward; pass retain_graph there to go through it again");
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

}  // namespace tandem::autograd
