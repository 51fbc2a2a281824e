// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/nn/batch_norm.hpp"

#include "tandem/core/check.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/tensor/factories.hpp"

#include "nn/running_statistics.hpp"

namespace tandem::nn {

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
  if (running_mean.defined() && !context().recomputes) {
    RunningStatistics running{running_mean, running_var, num_batches_tracked};
    running.update(result.statistics, options_.momentum, options_.sync);
  }
  return result.y;
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
