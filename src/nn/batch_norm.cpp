// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/nn/batch_norm.hpp"

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/tensor/factories.hpp"

namespace tandem::nn {

BatchNorm::BatchNorm(std::int64_t num_features, BatchNormOptions options)
    : num_features_(num_features), options_(options) {
  TANDEM_CHECK(num_features > 0, "BatchNorm: num_features must be positive, got ", num_features);
  const Shape shape{num_features};
  const TensorOptions place{.dtype = options.dtype, .device = options.device};
  if (options.affine) {
    weight = ones(shape, place);
    bias = zeros(shape, place);
  }
  if (options.track_running_stats) {
    running_mean = zeros(shape, place);
    running_var = ones(shape, place);
    num_batches_tracked = zeros({}, {.dtype = DType::i64, .device = options.device});
  }
}

Tensor BatchNorm::normalize(const Tensor& x) {
  TANDEM_CHECK(x.size(1) == num_features_,
               type_name(),
               ": dimension 1 of the input ",
               x.describe(),
               " has not the ",
               num_features_,
               " channels of the module");
  if (!is_training() && running_mean.defined()) {
    return batch_norm_eval(
        x, running_mean, running_var, weight, bias, options_.eps, options_.activation);
  }
  BatchNormResult result =
      batch_norm(x, weight, bias, options_.eps, options_.sync, options_.activation);
  if (running_mean.defined() && !context().recomputes) update(result.statistics);
  return result.y;
}

void BatchNorm::update(const BatchNormStatistics& statistics) {
  const autograd::NoGrad off;
  num_batches_tracked.add_(ones({}, {.dtype = DType::i64, .device = running_mean.device()}));
  const double momentum = options_.momentum ? *options_.momentum : 1 / num_batches_tracked.item();
  // The running variance is the unbiased one.
  const auto n = static_cast<double>(statistics.count);
  running_mean.mul_(1 - momentum).add_(statistics.mean, momentum);
  running_var.mul_(1 - momentum).add_(statistics.var, momentum * n / (n - 1));
}

Tensor BatchNorm1d::forward(const Tensor& x) {
  TANDEM_CHECK(
      x.ndim() == 2 || x.ndim() == 3, "BatchNorm1d: needs (N, C) or (N, C, L), got ", x.describe());
  return normalize(x);
}

Tensor BatchNorm2d::forward(const Tensor& x) {
  TANDEM_CHECK(x.ndim() == 4, "BatchNorm2d: needs (N, C, H, W), got ", x.describe());
  return normalize(x);
}

}  // namespace tandem::nn
