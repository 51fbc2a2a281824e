// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/unary.hpp"

#include <numbers>

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/tensor/access.hpp"
#include "tandem/tensor/factories.hpp"

#include "kernels/unary.hpp"
#include "ops/autocast.hpp"
#include "ops/output.hpp"
#include "ops/unary.hpp"
#include "tensor/view_of.hpp"

namespace tandem {

using autograd::Gradients;
using autograd::record;
using autograd::Saved;
using kernels::Unary;

Tensor run_unary(const char* name, Unary op, const Tensor& x) {
  const Tensor y = make_output(x.shape(), x.dtype(), {x});
  const auto flops = static_cast<double>(y.numel());
  dispatch(x.stream(), make_work(Work::Kind::elementwise, name, {x}, {y}, flops), [&](auto& s) {
    kernels::unary(s, op, view_of(x), view_of(y));
  });
  return y;
}

Tensor neg(const Tensor& x) {
  TANDEM_CHECK(x.dtype() != DType::boolean, "neg: a bool tensor cannot be negated; use eq(x, 0)");
  return record("neg", run_unary("neg", Unary::neg, x), {x}, [](const Tensor& dy) {
    return Gradients{neg(dy)};
  });
}

Tensor abs(const Tensor& x) {
  return record("abs", run_unary("abs", Unary::abs, x), {x}, [s = Saved(x)](const Tensor& dy) {
    return Gradients{dy * sign(s.get())};
  });
}

Tensor sign(const Tensor& x) {
  return record("sign", run_unary("sign", Unary::sign, x), {x}, [](const Tensor& dy) {
    return Gradients{zeros_like(dy)};
  });
}

Tensor square(const Tensor& x) {
  return record(
      "square", run_unary("square", Unary::square, x), {x}, [s = Saved(x)](const Tensor& dy) {
        return Gradients{dy * (s.get() * 2.0)};
      });
}

Tensor exp(const Tensor& input) {
  const Tensor x = as_range(as_float(input));
  return record("exp", run_unary("exp", Unary::exp, x), {x}, [](const Tensor& dy, const Tensor& y) {
    return Gradients{dy * y};
  });
}

Tensor log(const Tensor& input) {
  const Tensor x = as_range(as_float(input));
  return record("log", run_unary("log", Unary::log, x), {x}, [s = Saved(x)](const Tensor& dy) {
    return Gradients{dy / s.get()};
  });
}

Tensor sqrt(const Tensor& input) {
  const Tensor x = as_float(input);
  return record(
      "sqrt", run_unary("sqrt", Unary::sqrt, x), {x}, [](const Tensor& dy, const Tensor& y) {
        return Gradients{dy / (y * 2.0)};
      });
}

Tensor rsqrt(const Tensor& input) {
  const Tensor x = as_range(as_float(input));
  return record(
      "rsqrt", run_unary("rsqrt", Unary::rsqrt, x), {x}, [](const Tensor& dy, const Tensor& y) {
        return Gradients{dy * (y * y * y) * -0.5};
      });
}

Tensor reciprocal(const Tensor& input) {
  const Tensor x = as_range(as_float(input));
  return record("reciprocal",
                run_unary("reciprocal", Unary::reciprocal, x),
                {x},
                [](const Tensor& dy, const Tensor& y) { return Gradients{neg(dy * square(y))}; });
}

Tensor sin(const Tensor& input) {
  const Tensor x = as_float(input);
  return record("sin", run_unary("sin", Unary::sin, x), {x}, [s = Saved(x)](const Tensor& dy) {
    return Gradients{dy * cos(s.get())};
  });
}

Tensor cos(const Tensor& input) {
  const Tensor x = as_float(input);
  return record("cos", run_unary("cos", Unary::cos, x), {x}, [s = Saved(x)](const Tensor& dy) {
    return Gradients{neg(dy * sin(s.get()))};
  });
}

Tensor erf(const Tensor& input) {
  const Tensor x = as_float(input);
  return record("erf", run_unary("erf", Unary::erf, x), {x}, [s = Saved(x)](const Tensor& dy) {
    return Gradients{dy * (exp(neg(square(s.get()))) * (2 * std::numbers::inv_sqrtpi))};
  });
}

}  // namespace tandem
