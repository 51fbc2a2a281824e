// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/nn/replicate.hpp"

#include <unordered_map>

#include "tandem/autograd/autograd.hpp"

namespace tandem::nn::detail {
namespace {

/// @param device_of  tensor -> the device of its copy.
template <class F>
void own(Module& module, F device_of) {
  const autograd::NoGrad off;
  std::unordered_map<const TensorImpl*, Tensor> copies;  // by the original, which `originals` keeps
  std::vector<Tensor> originals;
  visit_tensors(module, [&](const std::string&, Tensor& tensor, TensorKind) {
    auto [entry, is_new] = copies.try_emplace(&tensor.impl());
    if (is_new) {
      const ContextScope scope([&](Context& c) { c.category = tensor.buffer().category(); });
      const Device device = device_of(tensor);
      const Tensor data = tensor.detach();
      entry->second = device == data.device() ? data.clone() : data.to(device);
      if (tensor.requires_grad()) entry->second.requires_grad_();
      originals.push_back(tensor);
    }
    tensor = entry->second;
  });
}

}  // namespace

void own_tensors(Module& module) {
  own(module, [](const Tensor& x) { return x.device(); });
}

void own_tensors(Module& module, Device device) {
  own(module, [device](const Tensor&) { return device; });
}

void Wrapping::follow(Module& replica, const Module& original) {
  replica.mode_ = original.mode_;
  // Ids are given once, and hooks only go away: equal counts are equal hooks.
  if (replica.next_hook_ == original.next_hook_ && replica.hooks_.size() == original.hooks_.size())
    return;
  replica.hooks_ = original.hooks_;
  replica.next_hook_ = original.next_hook_;
}

}  // namespace tandem::nn::detail
