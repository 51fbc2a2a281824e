// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <limits>

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/ops/activation.hpp"
#include "tandem/ops/elementwise.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/tensor/access.hpp"
#include "tandem/tensor/factories.hpp"

#include "ops/autocast.hpp"
#include "ops/output.hpp"
#include "ops/run_curve.hpp"
#include "tensor/view_of.hpp"

namespace tandem {
namespace {

using autograd::Gradients;
using autograd::record;
using autograd::Saved;
using kernels::Curve;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// dy * op'(x), in differentiable ops.
Tensor slope(Curve op, const Tensor& x, double a, double b, const Tensor& dy) {
  switch (op) {
    case Curve::silu: {
      const Tensor s = sigmoid(x);
      return dy * (s * (1.0 + x * (1.0 - s)));
    }
    case Curve::leaky_relu:
      return where(gt(x, 0.0), dy, dy * a);
    case Curve::elu:  // the exponential of what is above zero might be infinite
      return where(gt(x, 0.0), dy, dy * (exp(clamp(x, -kInfinity, 0)) * a));
    case Curve::softplus:
      return where(gt(x * a, b), dy, dy * sigmoid(x * a));
    case Curve::logsigmoid:
      return dy * sigmoid(-x);
    case Curve::clamp:
      return where(gt(x, a) * lt(x, b), dy, 0.0);
    case Curve::smooth_l1:
      if (a == 0) return dy * (sign(x) * b);
      return where(lt(abs(x), a), dy * (x * (b / a)), dy * (sign(x) * b));
  }
  return {};
}

}  // namespace

Tensor run_curve(const char* name, Curve op, const Tensor& input, double a, double b) {
  const Tensor x = as_float(input);
  const Tensor y = make_output(x.shape(), x.dtype(), {x});
  const auto flops = 4 * static_cast<double>(y.numel());
  dispatch(x.stream(), make_work(Work::Kind::elementwise, name, {x}, {y}, flops), [&](auto& s) {
    kernels::curve(s, op, a, b, view_of(x), view_of(y));
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
                   kernels::curve_grad(stream, op, a, b, view_of(dy), view_of(in), view_of(dx));
                 });
        return Gradients{dx};
      });
}

Tensor silu(const Tensor& x) {
  return run_curve("silu", Curve::silu, x);
}

Tensor leaky_relu(const Tensor& x, double negative_slope) {
  return run_curve("leaky_relu", Curve::leaky_relu, x, negative_slope);
}

Tensor elu(const Tensor& x, double alpha) {
  return run_curve("elu", Curve::elu, x, alpha);
}

Tensor softplus(const Tensor& x, double beta, double threshold) {
  TANDEM_CHECK(beta > 0, "softplus: beta is ", beta, "; it must be above 0");
  return run_curve("softplus", Curve::softplus, as_range(x), beta, threshold);
}

Tensor logsigmoid(const Tensor& x) {
  return run_curve("logsigmoid", Curve::logsigmoid, x);
}

Tensor clamp(const Tensor& x, double min, double max) {
  if (is_float(x.dtype())) return run_curve("clamp", Curve::clamp, x, min, max);
  Tensor y = x;
  const auto bound = [&](double number) {
    return scalar(number, {.dtype = number_dtype(x.dtype(), number), .device = x.device()});
  };
  if (min > -kInfinity) y = maximum(y, bound(min));
  if (max < kInfinity) y = minimum(y, bound(max));
  return y;
}

Tensor clamp(const Tensor& x, const Tensor& min, const Tensor& max) {
  Tensor y = x;
  if (min.defined()) y = maximum(y, min);
  if (max.defined()) y = minimum(y, max);
  return y;
}

}  // namespace tandem
