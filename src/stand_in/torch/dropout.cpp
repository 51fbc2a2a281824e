// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <ATen/ATen.h>

#include "stand_in/torch/families.hpp"

namespace tandem::stand_in {
namespace {

std::tuple<at::Tensor, at::Tensor> native_dropout(const at::Tensor& x,
                                                  double p,
                                                  std::optional<bool> train) {
  const auto mask_options = x.options().dtype(at::kBool);
  if (train.has_value() && !*train) return {x.clone(), at::ones_like(x, mask_options)};
  const at::Tensor mask = at::empty_like(x, mask_options).bernoulli_(1 - p);
  return {x * mask * (p == 1 ? 0.0 : 1 / (1 - p)), mask};
}

}  // namespace

void register_dropout(torch::Library& gpu) {
  gpu.impl("native_dropout", native_dropout);
}

}  // namespace tandem::stand_in
