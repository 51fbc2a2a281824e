// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/arithmetic.hpp"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>

#include "tandem/ops/activation.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/tensor/factories.hpp"

#include "devices.hpp"
#include "ops/near.hpp"
#include "thrown_text.hpp"

namespace tandem {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::thrown_text;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kUnbounded = std::numeric_limits<double>::infinity();

TEST(ArithmeticTest, WrongShapesNameBoth) {
  const Tensor a = ones({2, 3}), b = ones({4});
  EXPECT_THAT(thrown_text([&] { add(a, b); }),
              AllOf(HasSubstr("add"), HasSubstr("(2, 3)"), HasSubstr("(4)")));
}

TEST(ArithmeticTest, DevicesThatDifferAreNamed) {
  const Tensor a = ones({2}), b = ones({2}, {.device = testing::device(1)});
  EXPECT_THAT(thrown_text([&] { a* b; }),
              AllOf(HasSubstr("mul"),
                    HasSubstr(testing::device_name(0)),
                    HasSubstr(testing::device_name(1))));
}

TEST(ArithmeticTest, BoolHasNoDifference) {
  const Tensor x = ones({2}, {.dtype = DType::boolean});
  EXPECT_THAT(thrown_text([&] { x - x; }), HasSubstr("ne(a, b)"));
}

TEST(ArithmeticTest, NumbersTakeTheTensorsType) {
  const Tensor i = tensor<std::int32_t>({3, 4});
  EXPECT_EQ((i * 2.0).dtype(), DType::i32);
  EXPECT_THAT((i * 2.0).to_doubles(), ElementsAre(6, 8));
  EXPECT_EQ((i + 0.5).dtype(), DType::f32);
  EXPECT_THAT((i + 0.5).to_doubles(), ElementsAre(3.5, 4.5));
  EXPECT_EQ((tensor({1.0}) * 2.0).dtype(), DType::f64);
  EXPECT_EQ((tensor({true}) * 3.0).dtype(), DType::i64);
  EXPECT_EQ((i / i).dtype(), DType::f32);
}

TEST(ArithmeticTest, NaNWins) {
  const Tensor x = tensor({1.0, kNaN, 2.0}), y = tensor({kNaN, 1.0, 3.0});
  for (const Tensor& z : {maximum(x, y), minimum(x, y)}) {
    EXPECT_TRUE(std::isnan(z.to_doubles()[0]));
    EXPECT_TRUE(std::isnan(z.to_doubles()[1]));
  }
}

TEST(ArithmeticTest, ChannelsLastStaysSo) {
  const Tensor x = randn({2, 3, 4, 5}).contiguous(MemoryFormat::channels_last);
  const Tensor bias = randn({3, 1, 1});
  EXPECT_TRUE((x + bias).is_contiguous(MemoryFormat::channels_last));
  EXPECT_TRUE((bias * x).is_contiguous(MemoryFormat::channels_last));
  EXPECT_EQ((x + bias).to_doubles(), (x.contiguous() + bias).to_doubles());
}

TEST(ArithmeticTest, ThreadsChangeNothing) {
  const Tensor x = randn({63, 1021}), y = randn({1021, 63}).t();
  const std::vector<double> one = (x * y + tanh(x)).to_doubles();
  const ContextScope scope([](Context& c) { c.threads = 3; });
  EXPECT_EQ((x * y + tanh(x)).to_doubles(), one);
}

/// Each element once, whatever the sizes and strides are.
TEST(ArithmeticTest, ReachesEveryElementOfAnyLayout) {
  for (const Dims& order :
       {Dims{0, 1, 2, 3}, Dims{3, 1, 0, 2}, Dims{2, 3, 1, 0}, Dims{0, 2, 3, 1}}) {
    const Tensor base = arange(0, 2 * 3 * 5 * 7).reshape({2, 3, 5, 7});
    const Tensor x = base.permute(order);
    const std::vector<double> values = x.to_doubles();
    const std::vector<double> doubled = (x + x.clone()).to_doubles();
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(doubled[i], 2 * values[i]) << order << " at " << i;
  }
}

TEST(ArithmeticTest, ClampTakesIntegersAndOneBound) {
  const Tensor x = tensor<std::int64_t>({-5, 0, 5});
  EXPECT_THAT(clamp(x, -2, kUnbounded).to_host<std::int64_t>(), ElementsAre(-2, 0, 5));
  EXPECT_THAT(clamp(x, -kUnbounded, 2).to_host<std::int64_t>(), ElementsAre(-5, 0, 2));
  EXPECT_EQ(clamp(x, 0.5, 2).dtype(), DType::f32);
  EXPECT_THAT(clamp(x, tensor<std::int64_t>({-9, 3, 3}), {}).to_host<std::int64_t>(),
              ElementsAre(-5, 3, 5));
}

TEST(ArithmeticTest, FusedGradientOfClampIsTheFormula) {
  for (const DType t : {DType::f32, DType::f64}) {
    const auto clamped = [](const std::vector<Tensor>& in) {
      return clamp(in[0].t() * 3.0, -0.5, 0.5);
    };
    testing::expect_fused_is_formula(
        clamped, {testing::leaf({7, 5}, t)}, t == DType::f32 ? 1e-5 : 1e-13);
  }
}

}  // namespace
}  // namespace tandem
