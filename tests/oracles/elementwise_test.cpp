// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include <gtest/gtest.h>

#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/compare.hpp"
#include "tandem/ops/unary.hpp"

#include "oracles/oracle_file.hpp"

namespace tandem::oracles {
namespace {

class ElementwiseOracle : public ::testing::TestWithParam<DType> {};

Op binary(Tensor (*f)(const Tensor&, const Tensor&)) {
  return [f](const Call& c) { return out(f(c["x"], c["y"])); };
}
Op scalar(Tensor (*f)(const Tensor&, double)) {
  return [f](const Call& c) { return out(f(c["x"], c.number("other"))); };
}

Tensor clamped(const Call& c) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  const auto &min = c.parameters.at("min"), &max = c.parameters.at("max");
  return clamp(c["x"],
               min.is_null() ? -kNone : min.get<double>(),
               max.is_null() ? kNone : max.get<double>());
}

TEST_P(ElementwiseOracle, OpsAgreeWithPyTorch) {
  const Ops ops = {
      {"add", binary(add)},
      {"sub", binary(sub)},
      {"mul", binary(mul)},
      {"div", binary(div)},
      {"maximum", binary(maximum)},
      {"minimum", binary(minimum)},
      {"add_scalar", scalar(operator+)},
      {"sub_scalar", scalar(operator-)},
      {"mul_scalar", scalar(operator*)},
      {"div_scalar", scalar(operator/)},
      {"neg", unary(neg)},
      {"abs", unary(abs)},
      {"exp", unary(exp)},
      {"log", unary(log)},
      {"sqrt", unary(sqrt)},
      {"rsqrt", unary(rsqrt)},
      {"reciprocal", unary(reciprocal)},
      {"square", unary(square)},
      {"sin", unary(sin)},
      {"cos", unary(cos)},
      {"erf", unary(erf)},
      {"pow", [](const Call& c) { return out(pow(c["x"], c.number("exponent"))); }},
      {"pow_tensor", binary(pow)},
      {"clamp", [](const Call& c) { return out(clamped(c)); }},
      {"clamp_tensor", [](const Call& c) { return out(clamp(c["x"], c["min"], c["max"])); }},
      {"masked_fill",
       [](const Call& c) { return out(masked_fill(c["x"], c["mask"], c.number("value"))); }},
      {"eq", binary(eq)},
      {"ne", binary(ne)},
      {"lt", binary(lt)},
      {"le", binary(le)},
      {"gt", binary(gt)},
      {"ge", binary(ge)},
      {"eq_scalar", scalar(eq)},
      {"ne_scalar", scalar(ne)},
      {"lt_scalar", scalar(lt)},
      {"le_scalar", scalar(le)},
      {"gt_scalar", scalar(gt)},
      {"ge_scalar", scalar(ge)},
      {"where", [](const Call& c) { return out(where(c["condition"], c["x"], c["y"])); }},
  };
  check_family("elementwise", ops, GetParam());
}

INSTANTIATE_TEST_SUITE_P(DTypes,
                         ElementwiseOracle,
                         ::testing::Values(DType::f64, DType::f32),
                         [](const auto& dtype) { return std::string(name(dtype.param)); });

}  // namespace
}  // namespace tandem::oracles
