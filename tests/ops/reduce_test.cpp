// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/reduce.hpp"

#include <cmath>
#include <limits>
#include <ostream>

#include <gmock/gmock.h>

#include "tandem/ops/arithmetic.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/tensor/factories.hpp"

#include "thrown_text.hpp"

namespace tandem {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::thrown_text;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Serial sums over `dims` of values in row-major order.
std::vector<double> serial_sums(const Tensor& x, const Dims& dims) {
  const std::vector<double> values = x.to_doubles();
  Shape kept = x.shape();
  for (const std::int64_t d : dims)
    kept[static_cast<int>(d)] = 1;
  const Strides steps = contiguous_strides(kept);
  std::vector<double> sums(static_cast<std::size_t>(numel(kept)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    auto rest = static_cast<std::int64_t>(i);
    std::int64_t at = 0;
    for (int d = x.ndim() - 1; d >= 0; --d) {
      const std::int64_t k = rest % x.shape()[d];
      rest /= x.shape()[d];
      if (kept[d] != 1) at += k * steps[d];
    }
    sums[static_cast<std::size_t>(at)] += values[i];
  }
  return sums;
}

struct ReduceCase {
  Shape shape;
  Dims order;  ///< of permute
  Dims dims;
};

void PrintTo(const ReduceCase& c, std::ostream* s) {
  *s << c.shape << " permuted by " << c.order << " over " << c.dims;
}

class ReduceTest : public ::testing::TestWithParam<std::tuple<ReduceCase, int>> {};

/// Small integers add up exactly: every element counts once, on every path and number of threads.
TEST_P(ReduceTest, AddsEveryElementOnce) {
  const auto& [c, threads] = GetParam();
  const ContextScope scope([n = threads](Context& context) { context.threads = n; });
  const Tensor x = randint(-8, 9, c.shape, {.dtype = DType::f32}).permute(c.order);
  EXPECT_EQ(sum(x, c.dims).to_doubles(), serial_sums(x, c.dims)) << x.shape() << " over " << c.dims;
  EXPECT_EQ(sum(x.to(DType::i32), c.dims).to_doubles(), serial_sums(x, c.dims));
}

INSTANTIATE_TEST_SUITE_P(
    Layouts,
    ReduceTest,
    ::testing::Combine(::testing::Values(ReduceCase{{1}, {0}, {0}},
                                         ReduceCase{{100'003}, {0}, {0}},
                                         ReduceCase{{517, 1030}, {0, 1}, {0}},
                                         ReduceCase{{517, 1030}, {0, 1}, {1}},
                                         ReduceCase{{517, 1030}, {1, 0}, {0}},
                                         ReduceCase{{70'001, 3}, {0, 1}, {0}},
                                         ReduceCase{{70'001, 3}, {0, 1}, {1}},
                                         ReduceCase{{16, 9, 40, 33}, {0, 1, 2, 3}, {0, 2, 3}},
                                         ReduceCase{{16, 40, 33, 9}, {0, 3, 1, 2}, {0, 2, 3}},
                                         ReduceCase{{16, 40, 33, 9}, {0, 3, 1, 2}, {2, 3}},
                                         ReduceCase{{16, 40, 33, 9}, {0, 3, 1, 2}, {1}},
                                         ReduceCase{{4, 5, 6, 7}, {3, 1, 2, 0}, {1, 3}},
                                         ReduceCase{{2, 3, 2, 3, 2, 3, 2, 3},
                                                    {7, 0, 6, 1, 5, 2, 4, 3},
                                                    {0, 3, 5}}),
                       ::testing::Values(1, 2, 5)));

TEST(ReduceTest, FloatSumsKeepTheirDigits) {
  const Tensor x = rand({1 << 20});
  const std::vector<double> values = x.to_doubles();
  double exact = 0;
  for (const double v : values)
    exact += v;
  EXPECT_NEAR(sum(x).item(), exact, 1e-7 * exact);
  // Columns: 200,000 terms each.
  const Tensor columns = rand({200'000, 5});
  const std::vector<double> expected = serial_sums(columns, {0});
  const std::vector<double> sums = sum(columns, {0}).to_doubles();
  for (std::size_t i = 0; i < sums.size(); ++i)
    EXPECT_NEAR(sums[i], expected[i], 2e-7 * expected[i]);
}

TEST(ReduceTest, IsTheSameInEveryRun) {
  const ContextScope scope([](Context& c) { c.threads = 4; });
  const Tensor x = randn({300, 1000});
  const double first = sum(x).item();
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(sum(x).item(), first);
}

TEST(ReduceTest, NothingAddsUpToZero) {
  EXPECT_THAT(sum(zeros({0, 3}), {0}).to_doubles(), ElementsAre(0, 0, 0));
  EXPECT_EQ(sum(zeros({0, 3}), {1}).shape(), Shape{0});
  EXPECT_EQ(sum(zeros({0})).item(), 0);
  EXPECT_TRUE(std::isnan(mean(zeros({0})).item()));
  EXPECT_THAT(thrown_text([] {
                amax(zeros({0, 3}), {0});
              }),
              AllOf(HasSubstr("amax"), HasSubstr("(0, 3)")));
  EXPECT_THAT(thrown_text([] { argmax(zeros({2, 0}), 1); }), HasSubstr("argmax"));
  EXPECT_EQ(amax(zeros({0, 3}), {1}).shape(), Shape{0});
}

TEST(ReduceTest, TypesOfResults) {
  EXPECT_EQ(sum(ones({3}, {.dtype = DType::boolean})).dtype(), DType::i64);
  EXPECT_EQ(sum(full({300}, 200, {.dtype = DType::u8})).item(), 60'000);
  EXPECT_EQ(amax(full({3}, 200, {.dtype = DType::u8})).item(), 200);
  EXPECT_THAT(thrown_text([] { mean(ones({3}, {.dtype = DType::i64})); }), HasSubstr("i64 (3)"));
  EXPECT_THAT(thrown_text([] { sum(ones({2, 3}), {2}); }), AllOf(HasSubstr("sum"), HasSubstr("2")));
  EXPECT_THAT(thrown_text([] { sum(ones({2, 3}), {1, -1}); }), HasSubstr("twice"));
}

TEST(ReduceTest, ExtremesOfUnusualValues) {
  const Tensor x = tensor({-kInfinity, -kInfinity});
  EXPECT_EQ(amax(x).item(), -kInfinity);
  const Tensor y = tensor({1.0, std::nan(""), 2.0});
  EXPECT_TRUE(std::isnan(amax(y).item()));
  EXPECT_TRUE(std::isnan(amin(y).item()));
  EXPECT_EQ(argmax(y, 0).item(), 1);
  EXPECT_EQ(argmax(tensor({3.0, 7.0, 7.0}), 0).item(), 1);
}

TEST(ReduceTest, SumToReversesBroadcasting) {
  const Tensor x = ones({2, 3, 4});
  EXPECT_THAT(sum_to(x, {3, 1}).to_doubles(), Each(8));
  EXPECT_EQ(sum_to(x, {3, 1}).shape(), (Shape{3, 1}));
  EXPECT_EQ(sum_to(x, {}).item(), 24);
  EXPECT_TRUE(sum_to(x, {2, 3, 4}).is(x));
  EXPECT_THAT(thrown_text([&] { sum_to(x, {5}); }),
              AllOf(HasSubstr("(5)"), HasSubstr("(2, 3, 4)")));
}

TEST(ReduceTest, GlobalNormIsOfAllElements) {
  const Tensor a = full({2, 2}, 2).requires_grad_(), b = full({9}, 3);
  const Tensor norm = global_norm({a, b});
  EXPECT_NEAR(norm.item(), std::sqrt(4 * 4 + 9 * 9), 1e-6);
  EXPECT_FALSE(norm.requires_grad());
  EXPECT_THAT(thrown_text([] { global_norm({}); }), HasSubstr("no tensors"));
}

TEST(ReduceTest, MaxAndMinPropagateNan) {
  const Tensor x = tensor({1.0, std::nan(""), 5.0, -2.0});
  EXPECT_EQ(max(x, 0).indices.item(), 1);
  EXPECT_TRUE(std::isnan(min(x, 0).values.item()));
  EXPECT_EQ(argmin(x, 0).item(), 1);
}

TEST(ReduceTest, MaxTakesTheFirstOfEqualsAndItsGradientAlone) {
  const Tensor x = tensor({2.0, 3.0, 3.0}).requires_grad_();
  const auto [values, indices] = max(x, 0);
  values.backward();
  EXPECT_EQ(indices.item(), 1);
  EXPECT_THAT(x.grad().to_doubles(), ElementsAre(0, 1, 0));
  EXPECT_FALSE(indices.requires_grad());
  EXPECT_EQ(min(tensor({3.0, 2.0, 2.0}), 0, KeepDims::yes).indices.shape(), Shape({1}));
}

TEST(ReduceTest, MaxOfBoolAndOfNothing) {
  EXPECT_EQ(max(tensor<std::int64_t>({0, 1, 0}).to(DType::boolean), 0).indices.item(), 1);
  EXPECT_THAT(thrown_text([] {
                max(ones({2, 0}), 1);
              }),
              HasSubstr("max: there is nothing to choose from in (2, 0)"));
  EXPECT_EQ(max(ones({0, 2}), 1).values.shape(), Shape({0}));
}

TEST(ReduceTest, LogSumExpHoldsWhereExpWouldNot) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_DOUBLE_EQ(logsumexp(tensor({1000.0, 1000.0}), {0}).item(), 1000 + std::log(2.0));
  const Tensor x = tensor({-inf, -inf}).requires_grad_();
  const Tensor y = logsumexp(x, {0});
  y.backward();
  EXPECT_EQ(y.item(), -inf);
  EXPECT_THAT(x.grad().to_doubles(), ElementsAre(0, 0));
}

}  // namespace
}  // namespace tandem
