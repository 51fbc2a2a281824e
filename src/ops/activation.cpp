// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/activation.hpp"

#include <cmath>
#include <numbers>

#include "tandem/autograd/autograd.hpp"
#include "tandem/ops/elementwise.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/tensor/access.hpp"

#include "kernels/pointwise.hpp"
#include "ops/linear.hpp"
#include "ops/output.hpp"
#include "ops/run_unary.hpp"
#include "tensor/view_of.hpp"

namespace tandem {
namespace {

using autograd::Formula;
using autograd::Gradients;
using autograd::OutputFormula;
using autograd::record;
using autograd::Saved;
using kernels::ActivationGrad;
using kernels::Unary;

/// dy * op'(kept) in one pass, off the tape.
Tensor fused_grad(const char* name, ActivationGrad op, const Tensor& dy, const Tensor& kept) {
  const Tensor dx = make_output(kept.shape(), kept.dtype(), {kept});
  const auto flops = 4 * static_cast<double>(dx.numel());
  dispatch(
      kept.stream(),
      make_work(Work::Kind::elementwise, name, {dy, kept}, {dx}, flops),
      [&](auto& s) { kernels::activation_grad(s, op, view_of(dy), view_of(kept), view_of(dx)); });
  return dx;
}

OutputFormula fused_by_output(const char* name, ActivationGrad op) {
  return [name, op](const Tensor& dy, const Tensor& y) {
    return Gradients{fused_grad(name, op, dy, y)};
  };
}

/// The share of the standard normal distribution below x, and x times its density.
Tensor exact_slope(const Tensor& x) {
  const Tensor share = 0.5 * (1.0 + erf(x * (1 / std::numbers::sqrt2)));
  const double density = std::numbers::inv_sqrtpi / std::numbers::sqrt2;
  return share + x * exp(square(x) * -0.5) * density;
}

Tensor tanh_slope(const Tensor& x) {
  constexpr double kCubic = 0.044715;
  const double scale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  const Tensor t = tanh((x + kCubic * square(x) * x) * scale);
  const Tensor slope = (1.0 + (3 * kCubic) * square(x)) * scale;
  return 0.5 * (1.0 + t) + 0.5 * x * (1.0 - square(t)) * slope;
}

}  // namespace

Tensor gelu_slope(const Tensor& x, Gelu form) {
  return form == Gelu::exact ? exact_slope(x) : tanh_slope(x);
}

Tensor relu(const Tensor& x) {
  return record(
      "relu",
      run_unary("relu", Unary::relu, x),
      {x},
      [](const Tensor& dy, const Tensor& y) { return Gradients{where(gt(y, 0.0), dy, 0.0)}; },
      fused_by_output("relu_grad", ActivationGrad::relu));
}

Tensor tanh(const Tensor& input) {
  const Tensor x = as_float(input);
  // The formula asks for y on the tape: d tanh / dx = 1 - y^2 has a derivative through y.
  return record(
      "tanh",
      run_unary("tanh", Unary::tanh, x),
      {x},
      [](const Tensor& dy, const Tensor& y) { return Gradients{dy * (1.0 - square(y))}; },
      fused_by_output("tanh_grad", ActivationGrad::tanh));
}

Tensor sigmoid(const Tensor& input) {
  const Tensor x = as_float(input);
  return record(
      "sigmoid",
      run_unary("sigmoid", Unary::sigmoid, x),
      {x},
      [](const Tensor& dy, const Tensor& y) { return Gradients{dy * (y * (1.0 - y))}; },
      fused_by_output("sigmoid_grad", ActivationGrad::sigmoid));
}

Tensor gelu(const Tensor& input, Gelu form) {
  const Tensor x = as_float(input);
  const bool exact = form == Gelu::exact;
  const auto op = exact ? ActivationGrad::gelu : ActivationGrad::gelu_tanh;
  return record(
      "gelu",
      run_unary("gelu", exact ? Unary::gelu : Unary::gelu_tanh, x),
      {x},
      [s = Saved(x), form](const Tensor& dy) { return Gradients{dy * gelu_slope(s.get(), form)}; },
      [s = Saved(x), op](const Tensor& dy) {
        return Gradients{fused_grad("gelu_grad", op, dy, s.get())};
      });
}

}  // namespace tandem
