// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <memory>
#include <utility>
#include <vector>

#include "tandem/autograd/autograd.hpp"

namespace tandem::autograd {

/// The state that a user's op keeps between forward and backward.
struct FunctionContext {
  std::vector<Saved> saved;

  /// Keeps inputs of the op for backward.
  void save(std::initializer_list<Tensor> tensors) {
    const EnableGrad on;  // forward runs off the tape, where a checkpoint keeps what is saved
    for (const Tensor& x : tensors)
      saved.emplace_back(x);
  }
};

/// A user's differentiable op (torch.autograd.Function): a struct with
///   static Tensor forward(FunctionContext&, const Tensor& x, ...);
///   static Gradients backward(FunctionContext&, const Tensor& dy);   // one per tensor argument
/// It is called by `apply<MyOp>(x, ...)`. Kernels of its own run through tandem::dispatch.
///
/// Ops inside forward are not recorded. Ops inside backward are recorded if create_graph is on.
template <class Op, std::same_as<Tensor>... Inputs>
Tensor apply(const Inputs&... inputs) {
  auto context = std::make_shared<FunctionContext>();
  Tensor y;
  {
    const NoGrad off;
    y = Op::forward(*context, inputs...);
  }
  return record("function", std::move(y), {inputs...}, Formula([context](const Tensor& dy) {
                  return Op::backward(*context, dy);
                }));
}

}  // namespace tandem::autograd
