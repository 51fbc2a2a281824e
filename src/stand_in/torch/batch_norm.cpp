// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// The ops of SyncBatchNorm, which PyTorch has for GPUs alone: statistics of a device, of several
// devices together, and what is done with them. Statistics are f32 for inputs of 16 bits.

#include <ATen/ATen.h>

#include "stand_in/torch/families.hpp"

namespace tandem::stand_in {
namespace {

using at::Tensor;
using Given = const std::optional<Tensor>&;

Tensor wide(const Tensor& x) {
  return x.scalar_type() == at::kHalf || x.scalar_type() == at::kBFloat16 ? x.to(at::kFloat) : x;
}

std::vector<std::int64_t> all_but_channels(const Tensor& x) {
  std::vector<std::int64_t> dims{0};
  for (std::int64_t d = 2; d < x.dim(); ++d)
    dims.push_back(d);
  return dims;
}

/// A value for each channel, over x.
Tensor over(const Tensor& by_channel, const Tensor& x) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(x.dim()), 1);
  shape[1] = -1;
  return by_channel.reshape(shape);
}

std::tuple<Tensor, Tensor> stats(const Tensor& x, double eps) {
  const Tensor values = wide(x);
  const auto dims = all_but_channels(x);
  return {values.mean(dims), (values.var(dims, 0) + eps).rsqrt()};
}

void keep(Given running, const Tensor& value, double momentum) {
  if (running.has_value() && running->defined())
    running->mul_(1 - momentum).add_(value.to(running->scalar_type()), momentum);
}

std::tuple<Tensor, Tensor> gather_stats_with_counts(const Tensor&,
                                                    const Tensor& mean,
                                                    const Tensor& invstd,
                                                    Given running_mean,
                                                    Given running_var,
                                                    double momentum,
                                                    double eps,
                                                    const Tensor& counts) {
  const Tensor n = counts.to(mean.scalar_type()).reshape({-1, 1});
  const Tensor total = n.sum();
  const Tensor all = (mean * n).sum(0) / total;
  const Tensor squares = ((invstd.pow(-2) - eps + (mean - all).square()) * n).sum(0);
  keep(running_mean, all, momentum);
  keep(running_var, squares / (total - 1), momentum);
  return {all, (squares / total + eps).rsqrt()};
}

std::tuple<Tensor, Tensor> gather_stats(const Tensor& x,
                                        const Tensor& mean,
                                        const Tensor& invstd,
                                        Given running_mean,
                                        Given running_var,
                                        double momentum,
                                        double eps,
                                        std::int64_t count) {
  const Tensor counts = at::full({mean.size(0)}, static_cast<double>(count), mean.options());
  return gather_stats_with_counts(
      x, mean, invstd, running_mean, running_var, momentum, eps, counts);
}

Tensor elemt(
    const Tensor& x, Given weight, Given bias, const Tensor& mean, const Tensor& invstd, double) {
  Tensor y = (wide(x) - over(mean, x)) * over(invstd, x);
  if (weight.has_value() && weight->defined()) y = y * over(wide(*weight), x);
  if (bias.has_value() && bias->defined()) y = y + over(wide(*bias), x);
  return y.to(x.scalar_type());
}

Tensor& elemt_out(const Tensor& x,
                  Given weight,
                  Given bias,
                  const Tensor& mean,
                  const Tensor& invstd,
                  double eps,
                  Tensor& out) {
  return out.copy_(elemt(x, weight, bias, mean, invstd, eps));
}

std::tuple<Tensor, Tensor, Tensor, Tensor> backward_reduce(const Tensor& dy,
                                                           const Tensor& x,
                                                           const Tensor& mean,
                                                           const Tensor& invstd,
                                                           Given weight,
                                                           bool,
                                                           bool needs_weight,
                                                           bool needs_bias) {
  const auto dims = all_but_channels(x);
  const Tensor sum = wide(dy).sum(dims);
  const Tensor sum_by_x = (wide(dy) * (wide(x) - over(mean, x))).sum(dims);
  const auto type =
      weight.has_value() && weight->defined() ? weight->scalar_type() : sum.scalar_type();
  return {sum,
          sum_by_x,
          needs_weight ? (sum_by_x * invstd).to(type) : Tensor(),
          needs_bias ? sum.to(type) : Tensor()};
}

Tensor backward_elemt(const Tensor& dy,
                      const Tensor& x,
                      const Tensor& mean,
                      const Tensor& invstd,
                      Given weight,
                      const Tensor& sum,
                      const Tensor& sum_by_x,
                      const Tensor& counts) {
  const Tensor total = counts.sum().to(sum.scalar_type());
  const Tensor centred = wide(x) - over(mean, x);
  Tensor dx =
      wide(dy) - over(sum / total, x) - centred * over(invstd.square() * sum_by_x / total, x);
  dx = dx * over(invstd, x);
  if (weight.has_value() && weight->defined()) dx = dx * over(wide(*weight), x);
  return dx.to(x.scalar_type());
}

}  // namespace

void register_batch_norm(torch::Library& host) {
  host.impl("batch_norm_stats", stats);
  host.impl("batch_norm_gather_stats", gather_stats);
  host.impl("batch_norm_gather_stats_with_counts", gather_stats_with_counts);
  host.impl("batch_norm_elemt", elemt);
  host.impl("batch_norm_elemt.out", elemt_out);
  host.impl("batch_norm_backward_reduce", backward_reduce);
  host.impl("batch_norm_backward_elemt", backward_elemt);
}

}  // namespace tandem::stand_in
