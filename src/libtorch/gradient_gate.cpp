// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/libtorch/detail/gradient_gate.hpp"

#include <string>
#include <utility>

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>

namespace tandem::libtorch {
namespace {

std::vector<at::Tensor> pass_gate(std::vector<at::Tensor> tensors);

/// The identity. It has an input for each tensor that requires grad.
class GradientGate final : public torch::autograd::Node {
 public:
  std::string name() const override { return "GradientGate"; }

 protected:
  std::vector<at::Tensor> apply(std::vector<at::Tensor>&& gradients) override {
    return pass_gate(std::move(gradients));  // a gate only for double backward
  }
};

std::vector<at::Tensor> pass_gate(std::vector<at::Tensor> tensors) {
  if (!c10::GradMode::is_enabled() || !torch::autograd::any_variable_requires_grad(tensors)) {
    return tensors;
  }
  const auto gate = c10::make_intrusive<GradientGate>();
  for (at::Tensor& x : tensors) {
    if (!x.defined() || !x.requires_grad()) continue;
    gate->add_next_edge(torch::autograd::impl::gradient_edge(x));
    x = x.tensor_data();  // not detach(), which would be an op of its own on the device
    torch::autograd::set_history(x, gate);
  }
  return tensors;
}

}  // namespace

std::vector<at::Tensor> leave_replica(std::vector<at::Tensor> outputs) {
  return pass_gate(std::move(outputs));
}

std::vector<at::Tensor> enter_replica(std::vector<at::Tensor> inputs) {
  return pass_gate(std::move(inputs));
}

}  // namespace tandem::libtorch
