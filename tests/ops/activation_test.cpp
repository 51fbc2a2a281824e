// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/activation.hpp"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>

#include "tandem/ops/arithmetic.hpp"
#include "tandem/tensor/factories.hpp"

#include "ops/near.hpp"
#include "thrown_text.hpp"

namespace tandem {
namespace {

using ::testing::ElementsAre;
using testing::expect_fused_is_formula;
using ::testing::HasSubstr;
using testing::leaf;
using testing::thrown_text;

TEST(ActivationTest, FusedGradientsAreTheFormulas) {
  const auto check = [](Tensor (*f)(const Tensor&)) {
    for (const DType t : {DType::f32, DType::f64}) {
      const double tolerance = t == DType::f32 ? 1e-5 : 1e-13;
      const auto strided = [f](const std::vector<Tensor>& in) { return f(in[0].t() * 3.0); };
      expect_fused_is_formula(strided, {leaf({7, 5}, t)}, tolerance);
    }
  };
  check(silu);
  check(logsigmoid);
  check([](const Tensor& x) { return leaky_relu(x); });
  check([](const Tensor& x) { return elu(x); });
  check([](const Tensor& x) { return softplus(x); });
}

/// f32 goes by polynomials, f64 by the standard library.
TEST(ActivationTest, SinglePrecisionIsThatOfTheStandardLibrary) {
  const Tensor x = arange(-12, 12, 1.0 / 512, {.dtype = DType::f32});
  const auto check = [&](const char* name, Tensor (*f)(const Tensor&)) {
    const std::vector<double> fast = f(x).to_doubles(), exact = f(x.to(DType::f64)).to_doubles();
    for (std::size_t i = 0; i < fast.size(); ++i)
      ASSERT_NEAR(fast[i], exact[i], 5e-7 * std::abs(exact[i]) + 1e-37) << name << " at " << i;
  };
  check("tanh", tanh);
  check("sigmoid", sigmoid);
  check("silu", silu);
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor far = tensor({-inf, -100.0, 100.0, inf}).to(DType::f32);
  EXPECT_THAT(tanh(far).to_doubles(), ElementsAre(-1, -1, 1, 1));
  EXPECT_NEAR(sigmoid(far).to_doubles()[0], 0, 1e-37);
  EXPECT_EQ(sigmoid(far).to_doubles()[3], 1);
  const Tensor nan = tensor({std::nan("")}).to(DType::f32);
  for (const Tensor& y : {relu(nan), tanh(nan), sigmoid(nan), gelu(nan), silu(nan)})
    EXPECT_TRUE(std::isnan(y.item()));
}

TEST(ActivationTest, LayoutAndEmptinessStay) {
  const Tensor x = randn({2, 3, 4, 5}).contiguous(MemoryFormat::channels_last);
  EXPECT_TRUE(silu(x).is_contiguous(MemoryFormat::channels_last));
  EXPECT_TRUE(relu(x).is_contiguous(MemoryFormat::channels_last));
  EXPECT_EQ(elu(zeros({0, 3})).shape(), Shape({0, 3}));
  EXPECT_EQ(silu(tensor<std::int64_t>({1, 2})).dtype(), DType::f32);
}

TEST(ActivationTest, LogSigmoidKeepsItsDigitsFarFromZero) {
  const Tensor x = tensor({-1000.0, -40.0, 40.0, 1000.0});
  const std::vector<double> y = logsigmoid(x).to_doubles();
  EXPECT_EQ(y[0], -1000);
  EXPECT_DOUBLE_EQ(y[1], -40 - std::exp(-40.0));
  EXPECT_DOUBLE_EQ(y[2], -std::exp(-40.0));
  EXPECT_EQ(y[3], 0);
}

TEST(ActivationTest, SoftplusRefusesABetaThatIsNotPositive) {
  EXPECT_THAT(thrown_text([] { softplus(ones({1}), 0); }), HasSubstr("softplus: beta is 0"));
}

}  // namespace
}  // namespace tandem
