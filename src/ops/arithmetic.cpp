// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/arithmetic.hpp"

#include <limits>

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/ops/compare.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/ops/unary.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/tensor/access.hpp"
#include "tandem/tensor/factories.hpp"

#include "kernels/arithmetic.hpp"
#include "ops/activation.hpp"
#include "ops/autocast.hpp"
#include "ops/output.hpp"
#include "tensor/view_of.hpp"

namespace tandem {
namespace {

using autograd::Gradients;
using autograd::record;
using autograd::Saved;
using kernels::Activation;
using kernels::Binary;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// op(a, b) of operands of one dtype, off the tape.
Tensor run(const char* name, Binary op, const Tensor& a, const Tensor& b) {
  const Shape shape = broadcast_shapes(a.shape(), b.shape(), name);
  const Tensor y = make_output(shape, a.dtype(), {a, b});
  const auto flops = static_cast<double>(y.numel());
  dispatch_on_any(
      a.stream(), make_work(Work::Kind::elementwise, name, {a, b}, {y}, flops), [&](auto& s) {
        kernels::binary(s, op, view_as(a, shape), view_as(b, shape), view_of(y));
      });
  return y;
}

/// op(a, b) of any operand and a number, off the tape.
Tensor run(const char* name, Binary op, const Tensor& a, double b) {
  const Tensor y = make_output(a.shape(), a.dtype(), {a});
  const auto flops = static_cast<double>(y.numel());
  dispatch_on_any(a.stream(),
                  make_work(Work::Kind::elementwise, name, {a}, {y}, flops),
                  [&](auto& s) { kernels::binary(s, op, view_of(a), b, view_of(y)); });
  return y;
}

/// What an operand's gradient needs to know of it.
struct Operand {
  explicit Operand(const Tensor& x) : shape(x.shape()), wanted(x.requires_grad()) {}
  /// `gradient()` summed down to the operand's shape, if it is asked for.
  template <class F>
  Tensor gradient(const F& of) const {
    return wanted ? sum_to(of(), shape) : Tensor();
  }
  /// `other`, kept only where this operand's gradient needs it.
  Saved keep(const Tensor& other) const { return wanted ? Saved(other) : Saved(); }

  Shape shape;
  bool wanted;
};

/// Both operands in one dtype; true where they had two.
bool promoted(const Tensor& a, const Tensor& b, DType t) {
  return a.dtype() != t || b.dtype() != t;
}

/// 1 where `a` is the one taken, one half where both are equal.
Tensor taken(const Tensor& larger, const Tensor& smaller) {
  const autograd::NoGrad off;
  return gt(larger, smaller).to(smaller.dtype()) + 0.5 * eq(larger, smaller).to(smaller.dtype());
}

Tensor extreme(const char* name, Binary op, const Tensor& a, const Tensor& b) {
  const DType t = promote(a.dtype(), b.dtype());
  if (promoted(a, b, t)) return extreme(name, op, a.to(t), b.to(t));
  return record(
      name,
      run(name, op, a, b),
      {a, b},
      [op, x = Operand(a), z = Operand(b), sa = Saved(a), sb = Saved(b)](const Tensor& dy) {
        const bool largest = op == Binary::maximum;
        const auto share = [&](const Tensor& mine, const Tensor& other) {
          return dy * (largest ? taken(mine, other) : taken(other, mine));
        };
        return Gradients{x.gradient([&] { return share(sa.get(), sb.get()); }),
                         z.gradient([&] { return share(sb.get(), sa.get()); })};
      });
}

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) {
  const DType t = promote(a.dtype(), b.dtype());
  if (promoted(a, b, t)) return add(a.to(t), b.to(t));
  return record("add",
                run("add", Binary::add, a, b),
                {a, b},
                [x = Operand(a), z = Operand(b)](const Tensor& dy) {
                  const auto whole = [&] { return dy; };
                  return Gradients{x.gradient(whole), z.gradient(whole)};
                });
}

Tensor sub(const Tensor& a, const Tensor& b) {
  const DType t = promote(a.dtype(), b.dtype());
  TANDEM_CHECK(t != DType::boolean, "sub: bool tensors cannot be subtracted; use ne(a, b)");
  if (promoted(a, b, t)) return sub(a.to(t), b.to(t));
  return record("sub",
                run("sub", Binary::sub, a, b),
                {a, b},
                [x = Operand(a), z = Operand(b)](const Tensor& dy) {
                  return Gradients{x.gradient([&] { return dy; }),
                                   z.wanted ? neg(sum_to(dy, z.shape)) : Tensor()};
                });
}

Tensor mul(const Tensor& a, const Tensor& b) {
  const DType t = promote(a.dtype(), b.dtype());
  if (promoted(a, b, t)) return mul(a.to(t), b.to(t));
  const Operand x(a), z(b);
  return record("mul",
                run("mul", Binary::mul, a, b),
                {a, b},
                [x, z, sa = z.keep(a), sb = x.keep(b)](const Tensor& dy) {
                  return Gradients{x.gradient([&] { return dy * sb.get(); }),
                                   z.gradient([&] { return dy * sa.get(); })};
                });
}

Tensor div(const Tensor& a, const Tensor& b) {
  const DType both = promote(a.dtype(), b.dtype());
  const DType t = is_float(both) ? both : DType::f32;
  if (promoted(a, b, t)) return div(a.to(t), b.to(t));
  return record(
      "div",
      run("div", Binary::div, a, b),
      {a, b},
      [x = Operand(a), z = Operand(b), sb = Saved(b)](const Tensor& dy, const Tensor& y) {
        const Tensor da = dy / sb.get();
        return Gradients{x.gradient([&] { return da; }), z.gradient([&] { return -(da * y); })};
      });
}

Tensor maximum(const Tensor& a, const Tensor& b) {
  return extreme("maximum", Binary::maximum, a, b);
}
Tensor minimum(const Tensor& a, const Tensor& b) {
  return extreme("minimum", Binary::minimum, a, b);
}

Tensor pow(const Tensor& a, const Tensor& b) {
  const DType t = promote(promote(a.dtype(), b.dtype()), DType::f32);
  if (promoted(a, b, t)) return pow(a.to(t), b.to(t));
  const Shape shape = broadcast_shapes(a.shape(), b.shape(), "pow");
  const Tensor y = make_output(shape, t, {a, b});
  const auto flops = static_cast<double>(y.numel());
  dispatch(a.stream(), make_work(Work::Kind::elementwise, "pow", {a, b}, {y}, flops), [&](auto& s) {
    kernels::power(s, view_as(a, shape), view_as(b, shape), view_of(y));
  });
  return record("pow",
                y,
                {a, b},
                [x = Operand(a), z = Operand(b), sa = Saved(a), sb = Saved(b)](
                    const Tensor& dy, const Tensor& power) {
                  const Tensor &base = sa.get(), &exponent = sb.get();
                  return Gradients{
                      x.gradient([&] {
                        const Tensor da = dy * (exponent * pow(base, exponent - 1.0));
                        return where(ne(exponent, 0.0), da, 0.0);  // x^0 is flat, at x = 0 too
                      }),
                      z.gradient([&] {
                        const Tensor flat = eq(base, 0.0) * ge(exponent, 0.0);
                        return dy * masked_fill(
                                        power * log(masked_fill(base, eq(base, 0.0), 1)), flat, 0);
                      })};
                });
}

Tensor add(const Tensor& a, double b) {
  const Tensor x = a.to(number_dtype(a.dtype(), b));
  return record(
      "add", run("add", Binary::add, x, b), {x}, [](const Tensor& dy) { return Gradients{dy}; });
}

Tensor mul(const Tensor& a, double b) {
  const Tensor x = a.to(number_dtype(a.dtype(), b));
  return record("mul", run("mul", Binary::mul, x, b), {x}, [b](const Tensor& dy) {
    return Gradients{dy * b};
  });
}

Tensor pow(const Tensor& given, double exponent) {
  const Tensor input = as_range(given);
  const Tensor x = number_dtype(input.dtype(), exponent) == input.dtype() && exponent == 2
                       ? input
                       : as_float(input);
  if (exponent == 2) return square(x);
  const Tensor y = make_output(x.shape(), x.dtype(), {x});
  const auto flops = static_cast<double>(y.numel());
  dispatch(x.stream(), make_work(Work::Kind::elementwise, "pow", {x}, {y}, flops), [&](auto& s) {
    kernels::power(s, exponent, view_of(x), view_of(y));
  });
  return record("pow", y, {x}, [s = Saved(x), exponent](const Tensor& dy) {
    if (exponent == 0) return Gradients{zeros_like(dy)};
    return Gradients{dy * (pow(s.get(), exponent - 1) * exponent)};
  });
}

Tensor clamp(const Tensor& x, double min, double max) {
  if (is_float(x.dtype())) return run_activation("clamp", Activation::clamp, x, min, max);
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

Tensor Tensor::add(const Tensor& other) const {
  return tandem::add(*this, other);
}

}  // namespace tandem
