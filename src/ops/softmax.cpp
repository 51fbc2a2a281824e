// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/softmax.hpp"

#include "tandem/autograd/autograd.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/ops/unary.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/tensor/access.hpp"

#include "kernels/softmax.hpp"
#include "ops/autocast.hpp"
#include "ops/output.hpp"
#include "tensor/view_of.hpp"

namespace tandem {
namespace {

using autograd::Gradients;
using autograd::OutputFormula;
using autograd::record;
using kernels::SoftmaxForm;

Tensor run(const char* name, SoftmaxForm form, const Tensor& x, int dim) {
  const Tensor y = make_output(x.shape(), x.dtype(), {x});
  const auto flops = 4 * static_cast<double>(x.numel());
  dispatch(x.stream(), make_work(Work::Kind::reduce, name, {x}, {y}, flops), [&](auto& s) {
    kernels::softmax(s, form, dim, view_of(x), view_of(y));
  });
  return y;
}

OutputFormula fused(const char* name, SoftmaxForm form, int dim) {
  return [=](const Tensor& dy, const Tensor& y) {
    const Tensor dx = make_output(y.shape(), y.dtype(), {y});
    const auto flops = 4 * static_cast<double>(y.numel());
    dispatch(y.stream(), make_work(Work::Kind::reduce, name, {dy, y}, {dx}, flops), [&](auto& s) {
      kernels::softmax_grad(s, form, dim, view_of(dy), view_of(y), view_of(dx));
    });
    return Gradients{dx};
  };
}

}  // namespace

Tensor softmax(const Tensor& input, int dim) {
  if (is_float16(input.dtype())) return narrowed(softmax(widened(input), dim), input.dtype());
  const Tensor x = as_float(input);
  const int d = normalize_dim(dim, x.ndim(), "softmax");
  return record(
      "softmax",
      run("softmax", SoftmaxForm::softmax, x, d),
      {x},
      [d](const Tensor& dy, const Tensor& y) {
        return Gradients{y * (dy - sum(dy * y, {d}, KeepDims::yes))};
      },
      fused("softmax_grad", SoftmaxForm::softmax, d));
}

Tensor log_softmax(const Tensor& input, int dim) {
  if (is_float16(input.dtype())) return narrowed(log_softmax(widened(input), dim), input.dtype());
  const Tensor x = as_float(input);
  const int d = normalize_dim(dim, x.ndim(), "log_softmax");
  return record(
      "log_softmax",
      run("log_softmax", SoftmaxForm::log_softmax, x, d),
      {x},
      [d](const Tensor& dy, const Tensor& y) {
        return Gradients{dy - exp(y) * sum(dy, {d}, KeepDims::yes)};
      },
      fused("log_softmax_grad", SoftmaxForm::log_softmax, d));
}

}  // namespace tandem
