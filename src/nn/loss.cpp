// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/nn/loss.hpp"

namespace tandem::nn {
namespace {

CrossEntropyOptions options(std::int64_t ignore_index, const Tensor& weight, const Tensor& logits) {
  return {.ignore_index = ignore_index,
          .class_weight = weight.defined() ? weight.to(logits.device()) : Tensor()};
}

}  // namespace

Tensor CrossEntropyLoss::operator()(const Tensor& logits, const Tensor& labels) const {
  return cross_entropy(logits, labels, reduction_, options(ignore_index_, class_weight, logits));
}

WeightedSum CrossEntropyLoss::sum_and_weight(const Tensor& logits, const Tensor& labels) const {
  return cross_entropy_sum(logits, labels, options(ignore_index_, class_weight, logits));
}

Tensor MSELoss::operator()(const Tensor& a, const Tensor& b) const {
  return mse_loss(a, b, reduction_);
}

WeightedSum MSELoss::sum_and_weight(const Tensor& a, const Tensor& b) const {
  return mse_loss_sum(a, b);
}

}  // namespace tandem::nn
