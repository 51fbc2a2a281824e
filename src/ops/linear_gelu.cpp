// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/linear_gelu.hpp"

#include <memory>

#include "tandem/autograd/autograd.hpp"
#include "tandem/ops/activation.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/linalg.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/tensor/access.hpp"
#include "tandem/tensor/factories.hpp"

#include "kernels/linear_gelu.hpp"
#include "ops/activation.hpp"
#include "ops/autocast.hpp"
#include "ops/linalg.hpp"
#include "tensor/view_of.hpp"

namespace tandem {
namespace {

using autograd::Gradients;
using autograd::Saved;
using kernels::GeluForm;

GeluForm kernel_form(Gelu form) {
  return form == Gelu::exact ? GeluForm::exact : GeluForm::tanh;
}

/// What goes into GELU, and what comes out.
struct Pass {
  Tensor pre, y;
};

/// x (rows, in). Off the tape.
Pass forward(const Tensor& x_, const Tensor& weight, const Tensor& bias_, Gelu form) {
  const Tensor x = readable(x_), w = readable(weight.detach().t());
  check_sides("linear_gelu", x, w);
  const Tensor bias = bias_.defined() ? bias_.detach().contiguous() : bias_;
  const std::int64_t m = x.size(0), n = w.size(1), k = x.size(1);
  const TensorOptions place{.dtype = x.dtype(), .device = x.device()};
  const Pass pass{empty({m, n}, place), empty({m, n}, place)};
  const double flops = 2.0 * static_cast<double>(m * n) * static_cast<double>(k);
  dispatch(
      x.stream(),
      with_workspace(make_work(
          Work::Kind::gemm, "linear_gelu", {x, w, bias}, {pass.pre, pass.y}, flops, {m, n, k})),
      [&](auto& s) {
        kernels::linear_gelu(s,
                             kernel_form(form),
                             view_of(x),
                             view_of(w),
                             bias.defined() ? view_of(bias) : kernels::View{},
                             view_of(pass.pre),
                             view_of(pass.y));
      });
  return pass;
}

/// What linear_gelu keeps for backward.
struct LinearGeluSaved {
  Saved x, weight, bias;
  Saved pre;
  Gelu form;

  /// What goes into GELU is made again, on the tape.
  Gradients formula(const Tensor& dy) const {
    const Tensor &in = x.get(), &w = weight.get(), &b = bias.get();
    const Tensor dpre = dy * gelu_slope(linear(in, w, b), form);
    return {autograd::wants(in) ? matmul(dpre, w) : Tensor(),
            autograd::wants(w) ? matmul(dpre.t(), in) : Tensor(),
            autograd::wants(b) ? sum(dpre, {0}) : Tensor()};
  }

  Gradients fused(const Tensor& dy_) const {
    const Tensor &in = x.get(), &w = weight.get(), &b = bias.get(), &kept = pre.get();
    const Tensor dy = dy_.detach().contiguous();
    const TensorOptions place{.dtype = kept.dtype(), .device = kept.device()};
    const Tensor dpre = empty(kept.shape(), place), dbias = empty({kept.size(1)}, place);
    const auto flops = 10 * static_cast<double>(dpre.numel());
    dispatch(kept.stream(),
             with_workspace(make_work(
                 Work::Kind::elementwise, "gelu_grad_bias", {dy, kept}, {dpre, dbias}, flops)),
             [&](auto& s) {
               kernels::gelu_grad_bias(
                   s, kernel_form(form), view_of(dy), view_of(kept), view_of(dpre), view_of(dbias));
             });
    return {autograd::wants(in) ? multiply("matmul", dpre, w) : Tensor(),
            autograd::wants(w) ? multiply("matmul", dpre.t(), in, {}, autograd::gradient_place(w))
                               : Tensor(),
            autograd::wants(b) ? dbias : Tensor()};
  }
};

/// linear_gelu of x (rows, in).
Tensor linear_gelu_rows(const Tensor& x, const Tensor& weight, const Tensor& bias, Gelu form) {
  Pass pass = forward(x, weight, bias, form);
  const auto kept = std::make_shared<const LinearGeluSaved>(
      LinearGeluSaved{Saved(x), Saved(weight), Saved(bias), Saved(pass.pre), form});
  return autograd::record("linear_gelu",
                          std::move(pass.y),
                          {x, weight, bias},
                          autograd::Formula([kept](const Tensor& dy) { return kept->formula(dy); }),
                          autograd::Formula([kept](const Tensor& dy) { return kept->fused(dy); }));
}

}  // namespace

Tensor linear_gelu(const Tensor& input, const Tensor& weights, const Tensor& biases, Gelu form) {
  const Tensor x = as_factor(input), weight = as_factor(weights), bias = as_factor(biases);
  check_linear("linear_gelu", x, weight, bias);
  if (x.ndim() == 2) return linear_gelu_rows(x, weight, bias, form);
  Shape shape = x.shape();
  shape[-1] = weight.size(0);
  return linear_gelu_rows(x.reshape(rows_of(x)), weight, bias, form).reshape(shape);
}

}  // namespace tandem
