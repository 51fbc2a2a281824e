// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/gradient_sink.hpp"

#include <utility>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include "autograd/leaf.hpp"
#include "libtorch/paired_elements.hpp"

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

}  // namespace

std::size_t GradientSink::add(Tensor parameter, int copies) {
  entries_.push_back({.parameter = std::move(parameter), .copies = copies});
  return entries_.size() - 1;
}

void GradientSink::take(std::size_t parameter, at::Tensor gradient) {
  Entry& entry = entries_[parameter];
  if (entry.held.defined()) gradient = entry.held.add_(gradient);
  entry.held.reset();
  if (++entry.taken < entry.copies) {
    entry.held = std::move(gradient);
    return;
  }
  pass_on(entry, gradient);
}

void GradientSink::pass_on(Entry& entry, const at::Tensor& gradient) {
  const ContextScope scope(context_);
  const at::Tensor dense = gradient.detach();
  autograd::accumulate(
      entry.parameter.shared(),
      from_torch_in_pairs(dense.is_sparse() ? dense.to_dense() : dense, entry.parameter.device()),
      /*create_graph=*/false);
}

void GradientSink::end() {
  for (Entry& entry : entries_) {
    if (entry.held.defined()) pass_on(entry, std::exchange(entry.held, {}));
    entry.taken = 0;
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
