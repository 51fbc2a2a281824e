// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "nn/running_statistics.hpp"

#include "tandem/autograd/autograd.hpp"
#include "tandem/autograd/row_group.hpp"
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

/// Whether any replica has a value. Waits for the device only where the rows at hand do not tell.
bool has_values(const BatchNormStatistics& batch) {
  if (batch.count > 0) return true;
  return batch.count_of_all.defined() && batch.count_of_all.item_or(1) > 0;
}

/// x += factor * y, rounded as add_ with a number is. @param factor  f64 ()
void add_scaled(Tensor& x, const Tensor& y, const Tensor& factor) {
  const DType wide = x.dtype() == DType::f64 ? DType::f64 : DType::f32;
  x.copy_(x.to(wide) + factor.to(wide) * y.to(x.dtype()).to(wide));
}

}  // namespace

void RunningStatistics::update(const BatchNormStatistics& own,
                               const std::optional<double>& momentum,
                               BatchNormSync sync) {
  const autograd::NoGrad off;
  RowGroup* group = sync == BatchNormSync::merged ? current_row_group().get() : nullptr;
  const bool merges = group != nullptr && group->size() > 1;
  const BatchNormStatistics batch = merges ? merged(own, mean, *group) : own;
  if (batches.defined()) batches.add_(ones({}, {.dtype = DType::i64, .device = batches.device()}));
  if (!has_values(batch)) return;
  const double factor = momentum ? *momentum : 1 / batches.item_or(1);
  mean.mul_(1 - factor);
  var.mul_(1 - factor);
  // The running variance is the unbiased one.
  mean.add_(batch.mean, factor);
  if (batch.count_of_all.defined()) {
    const Tensor& n = batch.count_of_all;
    add_scaled(var, batch.var, n * factor / (n - 1.0));
  } else {
    const auto n = static_cast<double>(batch.count);
    var.add_(batch.var, factor * n / (n - 1));
  }
}

}  // namespace tandem::nn
