// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/nn/loss.hpp"

namespace tandem::nn {
namespace {

/// `x`, if there is one, where `like` is.
Tensor beside(const Tensor& x, const Tensor& like) {
  return x.defined() ? x.to(like.device()) : Tensor();
}

}  // namespace

CrossEntropyOptions CrossEntropyLoss::options(const Tensor& logits) const {
  return {ignore_index_, beside(class_weight, logits), label_smoothing_};
}
Tensor CrossEntropyLoss::operator()(const Tensor& logits, const Tensor& labels) const {
  return cross_entropy(logits, labels, reduction_, options(logits));
}
WeightedSum CrossEntropyLoss::sum_and_weight(const Tensor& logits, const Tensor& labels) const {
  return cross_entropy_sum(logits, labels, options(logits));
}

NllOptions NLLLoss::options(const Tensor& like) const {
  return {ignore_index_, beside(class_weight, like)};
}
Tensor NLLLoss::operator()(const Tensor& log_probabilities, const Tensor& labels) const {
  return nll_loss(log_probabilities, labels, reduction_, options(log_probabilities));
}
WeightedSum NLLLoss::sum_and_weight(const Tensor& log_probabilities, const Tensor& labels) const {
  return nll_loss_sum(log_probabilities, labels, options(log_probabilities));
}

Tensor MSELoss::operator()(const Tensor& a, const Tensor& b) const {
  return mse_loss(a, b, reduction_);
}
WeightedSum MSELoss::sum_and_weight(const Tensor& a, const Tensor& b) const {
  return mse_loss_sum(a, b);
}

Tensor L1Loss::operator()(const Tensor& a, const Tensor& b) const {
  return l1_loss(a, b, reduction_);
}
WeightedSum L1Loss::sum_and_weight(const Tensor& a, const Tensor& b) const {
  return l1_loss_sum(a, b);
}

Tensor SmoothL1Loss::operator()(const Tensor& a, const Tensor& b) const {
  return smooth_l1_loss(a, b, reduction_, beta_);
}
WeightedSum SmoothL1Loss::sum_and_weight(const Tensor& a, const Tensor& b) const {
  return smooth_l1_loss_sum(a, b, beta_);
}

Tensor HuberLoss::operator()(const Tensor& a, const Tensor& b) const {
  return huber_loss(a, b, reduction_, delta_);
}
WeightedSum HuberLoss::sum_and_weight(const Tensor& a, const Tensor& b) const {
  return huber_loss_sum(a, b, delta_);
}

BceOptions BCEWithLogitsLoss::options(const Tensor& logits) const {
  return {beside(weight, logits), beside(pos_weight, logits)};
}
Tensor BCEWithLogitsLoss::operator()(const Tensor& logits, const Tensor& target) const {
  return bce_with_logits(logits, target, reduction_, options(logits));
}
WeightedSum BCEWithLogitsLoss::sum_and_weight(const Tensor& logits, const Tensor& target) const {
  return bce_with_logits_sum(logits, target, options(logits));
}

Tensor KLDivLoss::operator()(const Tensor& input, const Tensor& target) const {
  return kl_div(input, target, reduction_, target_);
}
WeightedSum KLDivLoss::sum_and_weight(const Tensor& input, const Tensor& target) const {
  return kl_div_sum(input, target, reduction_, target_);
}

}  // namespace tandem::nn
