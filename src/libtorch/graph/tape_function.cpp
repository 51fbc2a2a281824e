// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/graph/tape_function.hpp"

#include <memory>
#include <mutex>
#include <utility>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/libtorch/detail/torch_device.hpp"
#include "tandem/libtorch/exchange.hpp"

#include "libtorch/graph/replica_node.hpp"
#include "libtorch/modules/replica_scope.hpp"
#include "libtorch/versions/torch_differences.hpp"

namespace tandem::libtorch {
namespace {

using torch::autograd::SavedVariable;

std::vector<at::Tensor> run_in_context(const char* name,
                                       Meets meets,
                                       const TapeFunction& f,
                                       const std::vector<at::Tensor>& inputs,
                                       const std::shared_ptr<TorchSource>& source);

/// The inputs off PyTorch's graph, as leaves of tandem's tape.
std::vector<Tensor> as_leaves(const std::vector<at::Tensor>& inputs) {
  std::vector<Tensor> leaves;
  for (const at::Tensor& x : inputs) {
    leaves.push_back(x.defined() ? from_torch(x.detach()) : Tensor());
    if (x.defined() && x.requires_grad()) leaves.back().requires_grad_();
  }
  return leaves;
}

std::vector<at::Tensor> shown(const std::vector<Tensor>& tensors, c10::Device device) {
  std::vector<at::Tensor> all;
  for (const Tensor& x : tensors)
    all.push_back(x.defined() ? to_torch(x.detach(), device) : at::Tensor());
  return all;
}

/// The gradients of the leaves that require grad; undefined for the others.
std::vector<Tensor> gradients_of(const std::vector<Tensor>& results,
                                 const std::vector<Tensor>& leaves,
                                 const std::vector<Tensor>& dys,
                                 autograd::BackwardOptions options) {
  std::vector<Tensor> roots, given, wanted, all(leaves.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!dys[i].defined() || !results[i].defined() || !results[i].requires_grad()) continue;
    roots.push_back(results[i]);
    given.push_back(dys[i]);
  }
  for (const Tensor& x : leaves)
    if (x.defined() && x.requires_grad()) wanted.push_back(x);
  if (roots.empty() || wanted.empty()) return all;
  const std::vector<Tensor> found = autograd::grad(roots, wanted, given, options);
  auto next = found.begin();
  for (std::size_t i = 0; i < leaves.size(); ++i)
    if (leaves[i].defined() && leaves[i].requires_grad()) all[i] = *next++;
  return all;
}

class TapeNode final : public ReplicaNode {
 public:
  TapeNode(const char* name,
           Meets meets,
           TapeFunction f,
           const std::vector<at::Tensor>& inputs,
           std::vector<Tensor> leaves,
           std::vector<Tensor> results,
           std::shared_ptr<TorchSource> source)
      : ReplicaNode(name, meets, std::move(source)),
        function_(std::move(f)),
        leaves_(std::move(leaves)),
        results_(std::move(results)) {
    for (const at::Tensor& x : inputs)
      inputs_.emplace_back(x, /*is_output=*/false);
  }
  void release_variables() override {
    const std::scoped_lock lock(mutex_);
    for (SavedVariable& x : inputs_)
      x.reset_data();
    leaves_.clear();
    results_.clear();
  }

 protected:
  std::vector<at::Tensor> apply(std::vector<at::Tensor>&& dys) override {
    const std::scoped_lock lock(mutex_);
    std::vector<at::Tensor> inputs;
    for (const SavedVariable& x : inputs_)
      inputs.push_back(x.unpack());  // throws if it was changed or released
    return run([&] { return gradients(std::move(inputs), dys); });
  }

 private:
  std::vector<at::Tensor> gradients(std::vector<at::Tensor> inputs,
                                    const std::vector<at::Tensor>& dys) {
    if (c10::GradMode::is_enabled()) return differentiable(std::move(inputs), dys);
    std::vector<Tensor> given;
    for (const at::Tensor& dy : dys)
      given.push_back(dy.defined() ? from_torch(dy.detach()) : Tensor());
    return shown(gradients_of(results_, leaves_, given, {.retain_graph = true}),
                 torch_device(source()->device()));
  }
  std::vector<at::Tensor> differentiable(std::vector<at::Tensor> inputs,
                                         const std::vector<at::Tensor>& dys) {
    const std::size_t count = inputs.size();
    inputs.insert(inputs.end(), dys.begin(), dys.end());
    const TapeFunction backward = [f = function_, count](const std::vector<Tensor>& all) {
      const auto middle = all.begin() + static_cast<std::ptrdiff_t>(count);
      const std::vector<Tensor> leaves(all.begin(), middle), given(middle, all.end());
      return gradients_of(f(leaves), leaves, given, {.create_graph = true});
    };
    return run_in_context(op(), meets() ? Meets::yes : Meets::no, backward, inputs, source());
  }

  TapeFunction function_;
  std::vector<SavedVariable> inputs_;
  std::vector<Tensor> leaves_, results_;
};

std::vector<at::Tensor> run_in_context(const char* name,
                                       Meets meets,
                                       const TapeFunction& f,
                                       const std::vector<at::Tensor>& inputs,
                                       const std::shared_ptr<TorchSource>& source) {
  const auto device = torch_device(source->device());
  std::vector<Tensor> leaves = as_leaves(inputs);
  const bool records =
      c10::GradMode::is_enabled() && torch::autograd::any_variable_requires_grad(inputs);
  if (!records) {
    const autograd::NoGrad off;
    return shown(source->stopped().watch([&] { return f(leaves); }), device);
  }
  const autograd::EnableGrad on;
  std::vector<Tensor> results = source->stopped().watch([&] { return f(leaves); });
  std::vector<at::Tensor> outputs = shown(results, device);
  const auto node =
      make_node<TapeNode>(name, meets, f, inputs, std::move(leaves), std::move(results), source);
  node->set_next_edges(torch::autograd::collect_next_edges(inputs));
  for (const at::Tensor& y : outputs) {
    if (y.defined())
      torch::autograd::set_history(y, node);
    else
      node->add_input_metadata(torch::autograd::Node::undefined_input());
  }
  return outputs;
}

}  // namespace

std::vector<at::Tensor> run_on_tape(const char* name,
                                    Meets meets,
                                    TapeFunction f,
                                    const std::vector<at::Tensor>& inputs) {
  return run_in_context(name, meets, f, inputs, ReplicaScope::current().source());
}

}  // namespace tandem::libtorch
