// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/nn/batch_norm.hpp"

#include "tandem/autograd/autograd.hpp"
#include "tandem/autograd/row_group.hpp"
#include "tandem/core/check.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/unary.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/tensor/factories.hpp"

namespace tandem::nn {
namespace {

/// The statistics of all replicas' rows, from each replica's own.
///
/// @param pivot  (C), the same in all replicas and near the means: squares of distances from it add
///               up without cancellation.
/// @source Chan, Golub and LeVeque, "Algorithms for computing the sample variance", 1983.
BatchNormStatistics merged(const BatchNormStatistics& own, const Tensor& pivot, RowGroup& group) {
  const std::int64_t channels = own.mean.numel();
  const auto count = static_cast<double>(own.count);
  const Tensor distance = own.mean.to(DType::f64) - pivot.to(DType::f64);
  Tensor sums = zeros({2 * channels + 1}, {.dtype = DType::f64, .device = own.mean.device()});
  sums.narrow(0, 0, channels).copy_(distance * count);
  sums.narrow(0, channels, channels).copy_((own.var.to(DType::f64) + distance * distance) * count);
  sums.narrow(0, 2 * channels, 1).fill_(count);
  sums = group.all_reduce_sum(sums);
  const Tensor total = sums.narrow(0, 2 * channels, 1), share = reciprocal(total);
  const Tensor mean = sums.narrow(0, 0, channels) * share;
  const Tensor var = sums.narrow(0, channels, channels) * share - mean * mean;
  return {(mean + pivot.to(DType::f64)).to(own.mean.dtype()),
          var.to(own.var.dtype()),
          own.count,
          total.reshape({})};
}

/// x += factor * y, rounded as add_ with a number is. @param factor  f64 ()
void add_scaled(Tensor& x, const Tensor& y, const Tensor& factor) {
  const DType wide = x.dtype() == DType::f64 ? DType::f64 : DType::f32;
  x.copy_(x.to(wide) + factor.to(wide) * y.to(x.dtype()).to(wide));
}

}  // namespace

BatchNorm::BatchNorm(std::int64_t num_features, BatchNormOptions options)
    : num_features_(num_features), options_(options) {
  TANDEM_CHECK(num_features > 0, "BatchNorm: num_features must be positive, got ", num_features);
  const Shape shape{num_features};
  const TensorOptions tensor_options{.dtype = options.dtype, .device = options.device};
  if (options.affine) {
    weight = ones(shape, tensor_options);
    bias = zeros(shape, tensor_options);
  }
  if (options.track_running_stats) {
    running_mean = zeros(shape, tensor_options);
    running_var = ones(shape, tensor_options);
    num_batches_tracked = zeros({}, {.dtype = DType::i64, .device = options.device});
  }
}

Tensor BatchNorm::normalize(const Tensor& x) {
  TANDEM_CHECK(x.size(1) == num_features_,
               type_name(),
               ": the input ",
               x.describe(),
               " does not have the module's ",
               num_features_,
               " channels in dimension 1");
  if (!is_training() && running_mean.defined()) {
    return batch_norm_eval(
        x, running_mean, running_var, weight, bias, options_.eps, options_.activation);
  }
  BatchNormResult result =
      batch_norm(x, weight, bias, options_.eps, options_.sync, options_.activation);
  if (running_mean.defined() && !context().recomputes) update(result.statistics);
  return result.y;
}

void BatchNorm::update(const BatchNormStatistics& own) {
  const autograd::NoGrad off;
  RowGroup* group = options_.sync == BatchNormSync::merged ? context().row_group.get() : nullptr;
  const bool merges = group != nullptr && group->size() > 1;
  const BatchNormStatistics batch = merges ? merged(own, running_mean, *group) : own;
  num_batches_tracked.add_(ones({}, {.dtype = DType::i64, .device = running_mean.device()}));
  const double momentum = options_.momentum ? *options_.momentum : 1 / num_batches_tracked.item();
  running_mean.mul_(1 - momentum);
  running_var.mul_(1 - momentum);
  // The running variance is the unbiased one.
  running_mean.add_(batch.mean, momentum);
  if (batch.count_of_all.defined()) {
    const Tensor& n = batch.count_of_all;
    add_scaled(running_var, batch.var, n * momentum / (n - 1.0));
  } else {
    const auto n = static_cast<double>(batch.count);
    running_var.add_(batch.var, momentum * n / (n - 1));
  }
}

int convert_sync_batchnorm(Module& module, BatchNormSync sync) {
  int count = 0;
  for (Module* part : module.modules()) {
    auto* const norm = dynamic_cast<BatchNorm*>(part);
    if (norm == nullptr) continue;
    norm->set_sync(sync);
    ++count;
  }
  return count;
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
