// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/layer_norm.hpp"

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/ops/unary.hpp"
#include "tandem/tensor/access.hpp"
#include "tandem/tensor/factories.hpp"

#include "kernels/layer_norm.hpp"
#include "ops/autocast.hpp"
#include "tensor/view_of.hpp"

namespace tandem {
namespace {

using autograd::Formula;
using autograd::Gradients;
using autograd::Saved;
using kernels::RowLayout;

kernels::View view_or_none(const Tensor& x) {
  return x.defined() ? view_of(x) : kernels::View{};
}

Tensor dense_or_none(const Tensor& x) {
  return x.defined() ? x.detach().contiguous() : x;
}

/// One layer norm or group norm: what backward needs.
struct RowNorm {
  Saved x, weight, bias;
  Tensor mean{}, rstd{};  // (rows)
  RowLayout layout{};
  double eps = 0;

  Gradients fused(const Tensor& dy) const;
  Gradients formula(const Tensor& dy) const;
};

Gradients RowNorm::fused(const Tensor& dy_) const {
  const Tensor in = dense_or_none(x.get()), dy = dense_or_none(dy_),
               w = dense_or_none(weight.get());
  const TensorOptions place{.dtype = in.dtype(), .device = in.device()};
  const Tensor dx = autograd::wants(x.get()) ? empty(in.shape(), place) : Tensor();
  Tensor dweight, dbias;
  if (autograd::wants(weight.get()) || autograd::wants(bias.get())) {
    dweight = empty({layout.channels()}, place);
    dbias = empty({layout.channels()}, place);
  }
  dispatch(in.stream(),
           with_workspace(make_work(Work::Kind::norm,
                                    "row_norm_grad",
                                    {in, dy, w, mean, rstd},
                                    {dx, dweight, dbias},
                                    12 * static_cast<double>(in.numel()))),
           [&](auto& s) {
             kernels::row_norm_grad(s,
                                    layout,
                                    view_of(dy),
                                    view_of(in),
                                    view_or_none(w),
                                    view_of(mean),
                                    view_of(rstd),
                                    {view_or_none(dx), view_or_none(dweight), view_or_none(dbias)});
           });
  return {dx,
          autograd::wants(weight.get()) ? dweight.reshape(weight.get().shape()) : Tensor(),
          autograd::wants(bias.get()) ? dbias.reshape(bias.get().shape()) : Tensor()};
}

// With h = (x - mean(x)) * r, r = 1 / sqrt(var + eps) and g = dy * weight:
// dx = r * (g - mean(g) - h * mean(g * h)), the means over a row. All of it in differentiable ops.
Gradients RowNorm::formula(const Tensor& dy_) const {
  const Tensor &in = x.get(), &w = weight.get(), &b = bias.get();
  const Shape rows{layout.rows / layout.groups, layout.groups, layout.row_channels(), layout.inner};
  const auto row_mean = [](const Tensor& t) { return tandem::mean(t, {2, 3}, KeepDims::yes); };
  const Tensor dy = dy_.reshape(rows), all = in.reshape(rows);
  const Tensor centred = all - row_mean(all);
  const Tensor r = rsqrt(row_mean(square(centred)) + eps);
  const Tensor h = centred * r;
  Tensor g = dy;
  if (w.defined()) g = dy * w.reshape({1, layout.groups, layout.row_channels(), 1});
  const Tensor dx = r * (g - row_mean(g) - h * row_mean(g * h));
  return {dx.reshape(in.shape()),
          w.defined() ? sum(dy * h, {0, 3}).reshape(w.shape()) : Tensor(),
          b.defined() ? sum(dy, {0, 3}).reshape(b.shape()) : Tensor()};
}

Tensor run(const char* op,
           const Tensor& x,
           const RowLayout& layout,
           const Tensor& weight,
           const Tensor& bias,
           double eps) {
  RowNorm norm{
      .x = Saved(x), .weight = Saved(weight), .bias = Saved(bias), .layout = layout, .eps = eps};
  const Tensor in = dense_or_none(x), w = dense_or_none(weight), b = dense_or_none(bias);
  const TensorOptions place{.dtype = in.dtype(), .device = in.device()};
  norm.mean = empty({layout.rows}, place);
  norm.rstd = empty({layout.rows}, place);
  Tensor y = empty(in.shape(), place);
  dispatch(in.stream(),
           make_work(Work::Kind::norm,
                     op,
                     {in, w, b},
                     {y, norm.mean, norm.rstd},
                     8 * static_cast<double>(in.numel())),
           [&](auto& s) {
             kernels::row_norm(s,
                               layout,
                               eps,
                               view_of(in),
                               view_or_none(w),
                               view_or_none(b),
                               view_of(y),
                               view_of(norm.mean),
                               view_of(norm.rstd));
           });
  const auto kept = std::make_shared<const RowNorm>(std::move(norm));
  return autograd::record(op,
                          std::move(y),
                          {x, weight, bias},
                          Formula([kept](const Tensor& dy) { return kept->formula(dy); }),
                          Formula([kept](const Tensor& dy) { return kept->fused(dy); }));
}

void check_parameter(
    const char* op, const Tensor& x, const Tensor& p, const char* what, const Shape& shape) {
  if (!p.defined()) return;
  TANDEM_CHECK(p.dtype() == x.dtype() && p.shape() == shape,
               op,
               ": ",
               what,
               " ",
               p.describe(),
               " does not fit x ",
               x.describe(),
               "; expected ",
               x.dtype(),
               " ",
               shape);
}

}  // namespace

Tensor layer_norm(const Tensor& x,
                  const Shape& normalized_shape,
                  const Tensor& weight,
                  const Tensor& bias,
                  double eps) {
  TANDEM_CHECK(is_float(x.dtype()), "layer_norm: needs a float tensor, got ", x.describe());
  if (is_float16(x.dtype())) {
    return narrowed(layer_norm(widened(x), normalized_shape, widened(weight), widened(bias), eps),
                    x.dtype());
  }
  const int dims = normalized_shape.size(), first = x.ndim() - dims;
  bool fits = dims > 0 && first >= 0 && numel(normalized_shape) > 0;
  std::int64_t rows = 1;
  for (int d = 0; fits && d < x.ndim(); ++d) {
    if (d < first)
      rows *= x.size(d);
    else
      fits = x.size(d) == normalized_shape[d - first];
  }
  TANDEM_CHECK(fits,
               "layer_norm: the last sizes of x ",
               x.describe(),
               " must be the normalized shape ",
               normalized_shape,
               ", which has at least one element");
  check_parameter("layer_norm", x, weight, "weight", normalized_shape);
  check_parameter("layer_norm", x, bias, "bias", normalized_shape);
  const RowLayout layout{.rows = rows, .length = numel(normalized_shape)};
  return run("layer_norm", x, layout, weight, bias, eps);
}

Tensor group_norm(const Tensor& x,
                  std::int64_t num_groups,
                  const Tensor& weight,
                  const Tensor& bias,
                  double eps) {
  TANDEM_CHECK(is_float(x.dtype()) && x.ndim() >= 2,
               "group_norm: needs a float tensor (N, C) or (N, C, ...), got ",
               x.describe());
  if (is_float16(x.dtype())) {
    return narrowed(group_norm(widened(x), num_groups, widened(weight), widened(bias), eps),
                    x.dtype());
  }
  TANDEM_CHECK(num_groups > 0 && x.size(1) > 0 && x.size(1) % num_groups == 0,
               "group_norm: the ",
               x.size(1),
               " channels of x ",
               x.shape(),
               " cannot be cut into ",
               num_groups,
               " groups of equal size");
  std::int64_t inner = 1;
  for (int d = 2; d < x.ndim(); ++d)
    inner *= x.size(d);
  TANDEM_CHECK(inner > 0, "group_norm: x ", x.shape(), " has no elements in its channels");
  check_parameter("group_norm", x, weight, "weight", {x.size(1)});
  check_parameter("group_norm", x, bias, "bias", {x.size(1)});
  const RowLayout layout{.rows = x.size(0) * num_groups,
                         .length = x.size(1) / num_groups * inner,
                         .groups = num_groups,
                         .inner = inner};
  return run("group_norm", x, layout, weight, bias, eps);
}

}  // namespace tandem
