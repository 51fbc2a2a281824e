// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/linalg.hpp"

#include <algorithm>
#include <limits>

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/tensor/access.hpp"
#include "tandem/tensor/factories.hpp"

#include "kernels/gemm.hpp"
#include "ops/autocast.hpp"
#include "ops/linalg.hpp"
#include "tensor/view_of.hpp"

namespace tandem {
namespace {

using autograd::Gradients;
using autograd::Saved;

/// Largest side of a matrix: BLAS counts in 32 bits.
constexpr std::int64_t kMaxSide = std::numeric_limits<std::int32_t>::max();

void check_operands(const char* op, const Tensor& a, const Tensor& b) {
  TANDEM_CHECK(is_float(a.dtype()) && is_float(b.dtype()),
               op,
               ": needs float tensors, got ",
               a.describe(),
               " and ",
               b.describe(),
               "; convert with .to(dtype)");
  TANDEM_CHECK(a.dtype() == b.dtype(),
               op,
               ": the dtypes differ: ",
               a.describe(),
               " and ",
               b.describe(),
               "; convert one with .to(dtype)");
}

}  // namespace

Tensor readable(const Tensor& x) {
  const auto layout =
      kernels::matrix_layout(x.size(-2), x.size(-1), x.strides()[-2], x.strides()[-1]);
  return layout ? x.detach() : x.detach().contiguous();
}

void check_sides(const char* op, const Tensor& a, const Tensor& b) {
  TANDEM_CHECK(std::max({a.size(-2), b.size(-1), a.size(-1)}) <= kMaxSide,
               op,
               ": a side of ",
               a.shape(),
               " @ ",
               b.shape(),
               " is longer than ",
               kMaxSide,
               "; multiply in parts");
}

Tensor multiply(
    const char* op, const Tensor& a_, const Tensor& b_, const Tensor& bias, const Tensor& into) {
  const Tensor a = readable(a_), b = readable(b_);
  Shape shape = a.shape();
  shape[-1] = b.size(-1);
  const std::int64_t m = a.size(-2), n = b.size(-1), k = a.size(-1);
  check_sides(op, a, b);
  const bool fits = into.defined() && into.dtype() == a.dtype() && into.is_contiguous();
  const Tensor c = fits ? into : empty(shape, {.dtype = a.dtype(), .device = a.device()});
  const Tensor dense_bias = bias.defined() ? bias.detach().contiguous() : bias;
  const std::int64_t batch = c.numel() == 0 ? 0 : c.numel() / (m * n);
  const double flops = 2.0 * static_cast<double>(batch * m * n) * static_cast<double>(k);
  dispatch(a.stream(),
           with_workspace(
               make_work(Work::Kind::gemm, op, {a, b, dense_bias}, {c}, flops, {batch * m, n, k})),
           [&](auto& s) {
             kernels::matmul(s,
                             view_of(a),
                             view_of(b),
                             dense_bias.defined() ? view_of(dense_bias) : kernels::View{},
                             view_of(c));
           });
  return c;
}

void check_linear(const char* op, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check_operands(op, x, weight);
  TANDEM_CHECK(weight.ndim() == 2, op, ": weight must be (out, in), got ", weight.describe());
  TANDEM_CHECK(x.ndim() >= 1 && x.size(-1) == weight.size(1),
               op,
               ": x ",
               x.shape(),
               " does not fit weight ",
               weight.shape(),
               "; x's last size must be ",
               weight.size(1));
  if (bias.defined()) {
    check_operands(op, x, bias);
    TANDEM_CHECK(bias.shape() == Shape{weight.size(0)},
                 op,
                 ": bias ",
                 bias.shape(),
                 " does not fit weight ",
                 weight.shape(),
                 "; expected (",
                 weight.size(0),
                 ")");
  }
}

Shape rows_of(const Tensor& x) {
  std::int64_t rows = 1;
  for (int d = 0; d < x.ndim() - 1; ++d)
    rows *= x.size(d);
  return {rows, x.size(-1)};
}

namespace {

/// matmul of tensors of at least two dimensions with equal batch sizes.
Tensor matmul_batch(const Tensor& a, const Tensor& b) {
  return autograd::record("matmul",
                          multiply("matmul", a, b, {}),
                          {a, b},
                          [a = Saved(a), b = Saved(b)](const Tensor& dy) {
                            const Tensor& x = a.get();
                            const Tensor& y = b.get();
                            return Gradients{
                                autograd::wants(x) ? matmul_batch(dy, y.t()) : Tensor(),
                                autograd::wants(y) ? matmul_batch(x.t(), dy) : Tensor()};
                          });
}

/// matmul of two matrices for the gradient of `of`, made where it belongs.
Tensor matmul_for(const Tensor& of, const Tensor& a, const Tensor& b) {
  const Tensor place = autograd::gradient_place(of);
  return place.defined() ? multiply("matmul", a, b, {}, place) : matmul_batch(a, b);
}

/// `x` with its batch dimensions expanded to `batch`.
Tensor expand_batch(const Tensor& x, Shape batch) {
  batch.push_back(x.size(-2));
  batch.push_back(x.size(-1));
  return x.shape() == batch ? x : x.expand(batch);
}

Shape batch_of(const Tensor& x) {
  Shape batch = x.shape();
  batch.erase(batch.size() - 1);
  batch.erase(batch.size() - 1);
  return batch;
}

/// linear of x (rows, in).
Tensor linear_rows(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  return autograd::record("linear",
                          multiply("linear", x, weight.detach().t(), bias),
                          {x, weight, bias},
                          [x = Saved(x), weight = Saved(weight), bias](const Tensor& dy) {
                            const Tensor& in = x.get();
                            const Tensor& w = weight.get();
                            const bool wants_bias = autograd::wants(bias);
                            return Gradients{
                                autograd::wants(in) ? matmul_batch(dy, w) : Tensor(),
                                autograd::wants(w) ? matmul_for(w, dy.t(), in) : Tensor(),
                                wants_bias ? sum(dy, {0}) : Tensor()};
                          });
}

}  // namespace

Tensor matmul(const Tensor& x, const Tensor& y) {
  const Tensor a = as_factor(x), b = as_factor(y);
  check_operands("matmul", a, b);
  TANDEM_CHECK(a.ndim() >= 1 && b.ndim() >= 1,
               "matmul: each tensor needs at least one dimension, got ",
               a.describe(),
               " and ",
               b.describe());
  const std::int64_t inner = b.ndim() == 1 ? b.size(0) : b.size(-2);
  TANDEM_CHECK(a.size(-1) == inner,
               "matmul: the inner sizes differ: ",
               a.shape(),
               " @ ",
               b.shape(),
               " needs ",
               a.size(-1),
               " == ",
               inner);
  if (b.ndim() == 1) return matmul(a, b.unsqueeze(1)).squeeze(-1);
  if (a.ndim() == 1) return matmul(a.unsqueeze(0), b).squeeze(-2);
  if (a.ndim() == 2 && b.ndim() == 2) return matmul_batch(a, b);
  if (b.ndim() == 2) {  // one product of all rows
    Shape shape = a.shape();
    shape[-1] = b.size(-1);
    return matmul_batch(a.reshape(rows_of(a)), b).reshape(shape);
  }
  const Shape batch = broadcast_shapes(batch_of(a), batch_of(b), "matmul");
  return matmul_batch(expand_batch(a, batch), expand_batch(b, batch));
}

Tensor linear(const Tensor& input, const Tensor& weights, const Tensor& biases) {
  const Tensor x = as_factor(input), weight = as_factor(weights), bias = as_factor(biases);
  check_linear("linear", x, weight, bias);
  if (x.ndim() == 2) return linear_rows(x, weight, bias);
  Shape shape = x.shape();
  shape[-1] = weight.size(0);
  return linear_rows(x.reshape(rows_of(x)), weight, bias).reshape(shape);
}

Tensor Tensor::matmul(const Tensor& other) const {
  return tandem::matmul(*this, other);
}

}  // namespace tandem
