// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/autograd/autograd.hpp"

#include <algorithm>
#include <utility>

#include "tandem/autograd/tape_context.hpp"
#include "tandem/core/check.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/access.hpp"

#include "autograd/checkpoint_state.hpp"
#include "autograd/engine.hpp"
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
  const Context& c = context();
  const std::shared_ptr<CheckpointState>& checkpoint = tape_context(c).checkpoint;
  // A leaf that trains stays anyway. Off the tape nothing is recomputed, and only the first of the
  // two runs may be at work there, updating buffers.
  if (checkpoint != nullptr && c.grad_enabled && !(x.is_leaf() && x.requires_grad())) {
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
      "backward: a tensor that backward needs (",
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
  const auto& unwanted = tape_context().unwanted;
  return unwanted == nullptr ||
         std::ranges::find(unwanted->edges, edge_of(x)) == unwanted->edges.end();
}

Tensor gradient_place(const Tensor& x) {
  const auto places = tape_context().places;
  return places == nullptr ? Tensor() : places->of(x);
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

void backward(const std::vector<Tensor>& roots,
              const std::vector<Tensor>& gradients,
              BackwardOptions options) {
  Engine(roots, gradients, {}, options).run();
}

std::vector<Tensor> grad(const std::vector<Tensor>& roots,
                         const std::vector<Tensor>& inputs,
                         const std::vector<Tensor>& gradients,
                         BackwardOptions options) {
  TANDEM_CHECK(!inputs.empty(), "grad: got no inputs; give at least one");
  return Engine(roots, gradients, inputs, options).run();
}

int register_hook(const Tensor& x, GradientHook hook) {
  TANDEM_CHECK(x.requires_grad(), "register_hook: ", x.describe(), " does not require grad");
  Meta& meta = make_meta(x.impl());
  auto& hooks = meta.grad_fn == nullptr
                    ? meta.hooks
                    : meta.grad_fn->outputs[static_cast<std::size_t>(meta.output)].hooks;
  hooks.emplace_back(meta.next_hook, std::move(hook));
  return meta.next_hook++;
}

void remove_hook(const Tensor& x, int id) {
  Meta* meta = meta_of(x.impl());
  if (meta == nullptr) return;
  auto& hooks = meta->grad_fn == nullptr
                    ? meta->hooks
                    : meta->grad_fn->outputs[static_cast<std::size_t>(meta->output)].hooks;
  std::erase_if(hooks, [id](const auto& entry) { return entry.first == id; });
}

void set_accumulate_hook(const Tensor& leaf, AccumulateHook hook) {
  TANDEM_CHECK(leaf.is_leaf(), "set_accumulate_hook: the tensor is not a leaf");
  make_meta(leaf.impl()).on_accumulate = std::move(hook);
}

void bind_gradient(const Tensor& leaf, const Tensor& storage) {
  TANDEM_CHECK(leaf.is_leaf(), "bind_gradient: the tensor is not a leaf");
  TANDEM_CHECK(
      !storage.defined() || (storage.shape() == leaf.shape() && storage.dtype() == leaf.dtype() &&
                             storage.device() == leaf.device()),
      "bind_gradient: the storage is ",
      storage.describe(),
      ", but the tensor is ",
      leaf.describe());
  Meta& meta = make_meta(leaf.impl());
  if (meta.grad.defined() && storage.defined()) {
    const NoGrad off;
    Tensor(storage).copy_(meta.grad.detach());
    meta.grad = storage;
  } else if (meta.grad.defined() && meta.bound.defined()) {
    meta.grad = meta.grad.clone();
  }
  meta.bound = storage;
}

}  // namespace tandem::autograd
