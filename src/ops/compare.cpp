// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/compare.hpp"

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/tensor/access.hpp"
#include "tandem/tensor/factories.hpp"

#include "kernels/compare.hpp"
#include "ops/output.hpp"
#include "tensor/view_of.hpp"

namespace tandem {
namespace {

using autograd::Gradients;
using autograd::record;
using kernels::Compare;

Tensor compared(const char* name, Compare op, const Tensor& a, const Tensor& b) {
  const DType t = promote(a.dtype(), b.dtype());
  if (a.dtype() != t || b.dtype() != t) {
    const autograd::NoGrad off;
    return compared(name, op, a.to(t), b.to(t));
  }
  const Shape shape = broadcast_shapes(a.shape(), b.shape(), name);
  const Tensor y = make_output(shape, DType::boolean, {a, b});
  const auto flops = static_cast<double>(y.numel());
  dispatch(a.stream(), make_work(Work::Kind::elementwise, name, {a, b}, {y}, flops), [&](auto& s) {
    kernels::compare(s, op, view_as(a, shape), view_as(b, shape), view_of(y));
  });
  return y;
}

/// The number as a tensor that meets `x`.
Tensor beside(const Tensor& x, double number) {
  return scalar(number, {.dtype = number_dtype(x.dtype(), number), .device = x.device()});
}

}  // namespace

Tensor eq(const Tensor& a, const Tensor& b) {
  return compared("eq", Compare::equal, a, b);
}
Tensor ne(const Tensor& a, const Tensor& b) {
  return compared("ne", Compare::not_equal, a, b);
}
Tensor lt(const Tensor& a, const Tensor& b) {
  return compared("lt", Compare::less, a, b);
}
Tensor le(const Tensor& a, const Tensor& b) {
  return compared("le", Compare::less_equal, a, b);
}
Tensor gt(const Tensor& a, const Tensor& b) {
  return compared("gt", Compare::less, b, a);
}
Tensor ge(const Tensor& a, const Tensor& b) {
  return compared("ge", Compare::less_equal, b, a);
}
Tensor eq(const Tensor& a, double b) {
  return eq(a, beside(a, b));
}
Tensor ne(const Tensor& a, double b) {
  return ne(a, beside(a, b));
}
Tensor lt(const Tensor& a, double b) {
  return lt(a, beside(a, b));
}
Tensor le(const Tensor& a, double b) {
  return le(a, beside(a, b));
}
Tensor gt(const Tensor& a, double b) {
  return gt(a, beside(a, b));
}
Tensor ge(const Tensor& a, double b) {
  return ge(a, beside(a, b));
}

Tensor isfinite(const Tensor& x) {
  const Tensor y = make_output(x.shape(), DType::boolean, {x});
  if (!is_float(x.dtype())) return Tensor(y).fill_(1);
  const auto flops = static_cast<double>(y.numel());
  dispatch(x.stream(),
           make_work(Work::Kind::elementwise, "isfinite", {x}, {y}, flops),
           [&](auto& s) { kernels::is_finite(s, view_of(x), view_of(y)); });
  return y;
}

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  TANDEM_CHECK(condition.dtype() == DType::boolean,
               "where: the condition must be bool, got ",
               condition.describe());
  const DType t = promote(a.dtype(), b.dtype());
  if (a.dtype() != t || b.dtype() != t) return where(condition, a.to(t), b.to(t));
  const Shape values = broadcast_shapes(a.shape(), b.shape(), "where");
  const Shape shape = broadcast_shapes(values, condition.shape(), "where");
  const Tensor y = make_output(shape, t, {a, b, condition});
  dispatch(a.stream(),
           make_work(Work::Kind::elementwise, "where", {condition, a, b}, {y}),
           [&](auto& s) {
             kernels::where(
                 s, view_as(condition, shape), view_as(a, shape), view_as(b, shape), view_of(y));
           });
  // The condition is kept as it is: where() takes no gradient of it.
  return record("where",
                y,
                {a, b},
                [c = autograd::Saved(condition),
                 sa = a.shape(),
                 sb = b.shape(),
                 need_a = a.requires_grad(),
                 need_b = b.requires_grad()](const Tensor& dy) {
                  const Tensor zero = beside(dy, 0);
                  return Gradients{need_a ? sum_to(where(c.get(), dy, zero), sa) : Tensor(),
                                   need_b ? sum_to(where(c.get(), zero, dy), sb) : Tensor()};
                });
}

Tensor where(const Tensor& condition, const Tensor& a, double b) {
  return where(condition, a, beside(a, b));
}

Tensor masked_fill(const Tensor& x, const Tensor& mask, double value) {
  return where(mask, scalar(value, {.dtype = x.dtype(), .device = x.device()}), x);
}

}  // namespace tandem
