// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/modules/gradient_sink.hpp"

#include <string>
#include <typeinfo>
#include <unordered_set>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include "tandem/core/check.hpp"
#include "tandem/runtime/context.hpp"

#include "autograd/leaf.hpp"
#include "libtorch/device/backward_context.hpp"
#include "libtorch/exchange/paired_elements.hpp"
#include "libtorch/gpu/caller_streams.hpp"

namespace tandem::libtorch {
namespace {

class GradientHook final : public torch::autograd::PostAccumulateGradHook {
 public:
  GradientHook(std::weak_ptr<GradientSink> sink, std::size_t parameter)
      : sink_(std::move(sink)), parameter_(parameter) {}
  void operator()(const at::Tensor& leaf) override {
    at::Tensor gradient;
    std::swap(gradient, leaf.mutable_grad());
    if (const auto sink = sink_.lock()) sink->take(parameter_, std::move(gradient));
  }

 private:
  std::weak_ptr<GradientSink> sink_;
  std::size_t parameter_;
};

/// Whether a part of the graph is recomputed by a backward within its backward.
bool has_reentrant_checkpoint(const torch::autograd::Node* root) {
  using torch::autograd::Node;
  const std::string of_python = "N5torch8autograd6PyNodeE";
  std::vector<const Node*> open{root};
  std::unordered_set<const Node*> seen{root};
  while (!open.empty()) {
    const Node& node = *open.back();
    open.pop_back();
    if (of_python == typeid(node).name() && node.name() == "CheckpointFunctionBackward")
      return true;
    for (const auto& edge : node.next_edges())
      if (edge.is_valid() && seen.insert(edge.function.get()).second)
        open.push_back(edge.function.get());
  }
  return false;
}

}  // namespace

std::size_t GradientSink::add(std::string name, Tensor parameter, int copies) {
  entries_.push_back(
      {.name = std::move(name), .parameter = std::move(parameter), .copies = copies});
  return entries_.size() - 1;
}

void GradientSink::clear() {
  for (Entry& entry : entries_)
    entry.arrived = {};
  group_.clear();
  context_.reset();
}

void GradientSink::begin(const torch::autograd::Node* root) {
  context_ = share_context();
  all_wait_ = root != nullptr && has_reentrant_checkpoint(root);
}

void GradientSink::take(std::size_t parameter, at::Tensor gradient) {
  Entry& entry = entries_[parameter];
  Arrived& own = entry.arrived;
  own.waits = own.waits || all_wait_ || context_ == nullptr || is_backward_within_backward();
  TANDEM_CHECK(!own.waits || own.taken < entry.copies || own.held.defined(),
               "step: a backward within the backward has reached '",
               entry.name,
               "', whose gradient is being reduced; use the parameter in it alone, or let "
               "torch.utils.checkpoint compute again with use_reentrant=False");
  if (own.held.defined()) gradient = own.held + gradient;
  hand_to_main_stream(gradient, entry.parameter.device());
  own.held.reset();
  if (++own.taken < entry.copies || own.waits) {
    own.held = std::move(gradient);
    return;
  }
  pass_on(entry, gradient);
}

void GradientSink::pass_on(Entry& entry, const at::Tensor& gradient) {
  const ContextScope scope(context_);
  check_alive("backward");  // PyTorch's kernels on GPUs do not ask
  at::Tensor dense = gradient.detach();
  if (dense.is_sparse()) {
    dense = dense.to_dense();
    hand_to_main_stream(dense, entry.parameter.device());
  }
  if (group_.take(entry.parameter, dense)) return;
  group_.pass_on();
  autograd::accumulate(entry.parameter.shared(),
                       from_torch_in_pairs(dense, entry.parameter.device()),
                       /*create_graph=*/false);
}

void GradientSink::end() {
  for (Entry& entry : entries_) {
    if (entry.arrived.held.defined()) pass_on(entry, entry.arrived.held);
    entry.arrived = {};
  }
  {
    const ContextScope scope(context_);
    group_.pass_on();
  }
  context_.reset();
}

void watch_gradient(const at::Tensor& leaf,
                    std::weak_ptr<GradientSink> sink,
                    std::size_t parameter) {
  torch::autograd::impl::set_post_acc_grad_hooks(
      leaf, std::make_unique<GradientHook>(std::move(sink), parameter));
}

}  // namespace tandem::libtorch
