// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/activation.hpp"

#include <limits>
#include <numbers>

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/compare.hpp"
#include "tandem/ops/unary.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/tensor/access.hpp"

#include "kernels/unary.hpp"
#include "ops/activation.hpp"
#include "ops/autocast.hpp"
#include "ops/output.hpp"
#include "ops/unary.hpp"
#include "tensor/view_of.hpp"

namespace tandem {
namespace {

using autograd::Formula;
using autograd::Gradients;
using autograd::OutputFormula;
using autograd::record;
using autograd::Saved;
using kernels::Activation;
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

/// dy * op'(x), in differentiable ops.
Tensor slope(Activation op, const Tensor& x, double a, double b, const Tensor& dy) {
  switch (op) {
    case Activation::silu: {
      const Tensor s = sigmoid(x);
      return dy * (s * (1.0 + x * (1.0 - s)));
    }
    case Activation::leaky_relu:
      return where(gt(x, 0.0), dy, dy * a);
    case Activation::elu:  // the exponential of what is above zero might be infinite
      return where(
          gt(x, 0.0), dy, dy * (exp(clamp(x, -std::numeric_limits<double>::infinity(), 0)) * a));
    case Activation::softplus:
      return where(gt(x * a, b), dy, dy * sigmoid(x * a));
    case Activation::logsigmoid:
      return dy * sigmoid(-x);
    case Activation::clamp:
      return where(gt(x, a) * lt(x, b), dy, 0.0);
    case Activation::smooth_l1:
      if (a == 0) return dy * (sign(x) * b);
      return where(lt(abs(x), a), dy * (x * (b / a)), dy * (sign(x) * b));
  }
  return {};
}

}  // namespace

Tensor gelu_slope(const Tensor& x, Gelu form) {
  return form == Gelu::exact ? exact_slope(x) : tanh_slope(x);
}

Tensor run_activation(const char* name, Activation op, const Tensor& input, double a, double b) {
  const Tensor x = as_float(input);
  const Tensor y = make_output(x.shape(), x.dtype(), {x});
  const auto flops = 4 * static_cast<double>(y.numel());
  dispatch(x.stream(), make_work(Work::Kind::elementwise, name, {x}, {y}, flops), [&](auto& s) {
    kernels::activation(s, op, a, b, view_of(x), view_of(y));
  });
  return record(
      name,
      y,
      {x},
      [op, a, b, s = Saved(x)](const Tensor& dy) {
        return Gradients{slope(op, s.get(), a, b, dy)};
      },
      [name, op, a, b, s = Saved(x)](const Tensor& dy) {
        const Tensor& in = s.get();
        const Tensor dx = make_output(in.shape(), in.dtype(), {in});
        const auto cost = 6 * static_cast<double>(dx.numel());
        dispatch(in.stream(),
                 make_work(Work::Kind::elementwise, name, {dy, in}, {dx}, cost),
                 [&](auto& stream) {
                   kernels::activation_grad(
                       stream, op, a, b, view_of(dy), view_of(in), view_of(dx));
                 });
        return Gradients{dx};
      });
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

Tensor silu(const Tensor& x) {
  return run_activation("silu", Activation::silu, x);
}

Tensor leaky_relu(const Tensor& x, double negative_slope) {
  return run_activation("leaky_relu", Activation::leaky_relu, x, negative_slope);
}

Tensor elu(const Tensor& x, double alpha) {
  return run_activation("elu", Activation::elu, x, alpha);
}

Tensor softplus(const Tensor& x, double beta, double threshold) {
  TANDEM_CHECK(beta > 0, "softplus: beta is ", beta, "; it must be above 0");
  return run_activation("softplus", Activation::softplus, as_range(x), beta, threshold);
}

Tensor logsigmoid(const Tensor& x) {
  return run_activation("logsigmoid", Activation::logsigmoid, x);
}

}  // namespace tandem
