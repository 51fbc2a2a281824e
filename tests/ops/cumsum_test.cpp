// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/cumsum.hpp"

#include <vector>

#include <gmock/gmock.h>

#include "tandem/runtime/context.hpp"
#include "tandem/tensor/factories.hpp"

namespace tandem {
namespace {

class CumsumTest : public ::testing::TestWithParam<int> {};

TEST_P(CumsumTest, IsALoopsSums) {
  const ContextScope scope([](Context& c) { c.threads = GetParam(); });
  for (const Shape& shape : {Shape{3, 5000}, Shape{5000, 3}, Shape{7, 40, 600}, Shape{1}}) {
    for (int dim = 0; dim < shape.size(); ++dim) {
      const Tensor x = randint(-9, 9, shape).to(DType::f32);
      const Tensor lines = x.transpose(dim, -1).contiguous().reshape({-1, shape[dim]});
      std::vector<double> expected = lines.to_doubles();
      for (std::size_t i = 0; i < expected.size(); ++i) {
        if (static_cast<std::int64_t>(i) % shape[dim] != 0) expected[i] += expected[i - 1];
      }
      const Tensor y = cumsum(x, dim).transpose(dim, -1).contiguous();
      EXPECT_EQ(y.to_doubles(), expected) << shape << " along " << dim;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, CumsumTest, ::testing::Values(1, 3));

TEST(Cumsum, OfNothingIsNothing) {
  EXPECT_EQ(cumsum(ones({0, 3}), 0).shape(), Shape({0, 3}));
}

}  // namespace
}  // namespace tandem
