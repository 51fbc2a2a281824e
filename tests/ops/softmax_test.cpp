// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/softmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/unary.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/tensor/factories.hpp"

#include "ops/near.hpp"

namespace tandem {
namespace {

using ::testing::ElementsAre;
using testing::expect_fused_is_formula;
using testing::leaf;
using testing::near;

/// The softmax of each line of `n` values.
std::vector<double> serial_softmax(std::vector<double> values, std::size_t n) {
  for (std::size_t first = 0; first < values.size(); first += n) {
    double largest = values[first], sum = 0;
    for (std::size_t i = first; i < first + n; ++i)
      largest = std::max(largest, values[i]);
    for (std::size_t i = first; i < first + n; ++i)
      sum += values[i] = std::exp(values[i] - largest);
    for (std::size_t i = first; i < first + n; ++i)
      values[i] /= sum;
  }
  return values;
}

class SoftmaxTest : public ::testing::TestWithParam<int> {};

TEST_P(SoftmaxTest, IsALoopsAlongEachDimension) {
  const ContextScope scope([](Context& c) { c.threads = GetParam(); });
  for (const Shape& shape : {Shape{3, 500},
                             Shape{500, 3},
                             Shape{5, 7, 33},
                             Shape{1},
                             Shape{2, 1500},
                             Shape{2, 9001},
                             Shape{2, 17'000}}) {
    for (int dim = 0; dim < shape.size(); ++dim) {
      for (const DType t : {DType::f32, DType::f64}) {
        const Tensor x = randn(shape, {.dtype = t}) * 5.0;
        const auto lines = [&](const Tensor& y) { return y.transpose(dim, -1).contiguous(); };
        const std::vector<double> expected =
            serial_softmax(lines(x).to_doubles(), static_cast<std::size_t>(shape[dim]));
        const double tolerance = t == DType::f32 ? 1e-6 : 1e-14;
        EXPECT_TRUE(near(lines(softmax(x, dim)).to_doubles(), expected, tolerance)) << shape;
        EXPECT_TRUE(near(lines(exp(log_softmax(x, dim))).to_doubles(), expected, 3 * tolerance))
            << shape;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, SoftmaxTest, ::testing::Values(1, 3));

TEST(Softmax, HoldsWhereExpWouldNot) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_THAT(softmax(tensor({1000.0, -inf, 1000.0}), 0).to_doubles(), ElementsAre(0.5, 0, 0.5));
  EXPECT_THAT(log_softmax(tensor({-1000.0, 1000.0}), 0).to_doubles(), ElementsAre(-2000, 0));
}

TEST(Softmax, OfNothingIsNothing) {
  EXPECT_EQ(softmax(ones({0, 3}), 1).shape(), Shape({0, 3}));
  EXPECT_EQ(log_softmax(ones({3, 0}), 1).shape(), Shape({3, 0}));
}

TEST(Softmax, FusedGradientsAreTheFormulas) {
  for (Tensor (*f)(const Tensor&, int) : {softmax, log_softmax}) {
    const auto strided = [f](const std::vector<Tensor>& in) { return f(in[0].t(), 1); };
    expect_fused_is_formula(strided, {leaf({7, 5})}, 1e-13);
    const auto along = [f](const std::vector<Tensor>& in) { return f(in[0], 1); };
    for (const std::int64_t n : {5, 300, 1500, 9001, 17'000})
      expect_fused_is_formula(along, {leaf({2, n})}, 1e-11);
  }
}

}  // namespace
}  // namespace tandem
