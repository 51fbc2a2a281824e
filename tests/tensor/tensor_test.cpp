// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/tensor/tensor.hpp"

#include <cmath>

#include <gmock/gmock.h>

#include "tandem/core/error.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"

namespace tandem {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(TensorTest, HostValuesRoundTrip) {
  const Tensor x = tensor({1.5f, -2.f, 3.f});
  EXPECT_EQ(x.dtype(), DType::f32);
  EXPECT_THAT(x.to_host<float>(), ElementsAre(1.5f, -2.f, 3.f));
  EXPECT_THAT(x.to_doubles(), ElementsAre(1.5, -2, 3));
  EXPECT_THROW(x.to_host<double>(), InvalidArgument);
  EXPECT_EQ(scalar(4).item(), 4);
  EXPECT_THROW(x.item(), InvalidArgument);
}

TEST(TensorTest, UndefinedTensorsSaySo) {
  const Tensor x;
  EXPECT_FALSE(x.defined());
  try {
    x.shape();
    FAIL();
  } catch (const InvalidArgument& e) {
    EXPECT_THAT(e.what(), HasSubstr("undefined"));
  }
}

TEST(TensorTest, StridedTensorsReadInLogicalOrder) {
  const Tensor x = arange(0, 6);
  const Tensor t = as_strided(x, {3, 2}, {1, 3}, 0);
  EXPECT_THAT(t.to_host<std::int64_t>(), ElementsAre(0, 3, 1, 4, 2, 5));
}

TEST(TensorTest, ChannelsLastIsTheSameValues) {
  Tensor x = full({2, 3, 2, 2}, 7, {.format = MemoryFormat::channels_last});
  EXPECT_TRUE(x.is_contiguous(MemoryFormat::channels_last));
  EXPECT_FALSE(x.is_contiguous());
  EXPECT_EQ(x.strides(), (Strides{12, 1, 6, 3}));
  EXPECT_EQ(empty_like(x).strides(), x.strides());
  EXPECT_THAT(x.to_host<float>(), Each(7));
}

TEST(TensorTest, PrintsLikePyTorch) {
  const Tensor x = tensor({1.f, 2.5f});
  EXPECT_EQ(x.to_string(), "[ 1., 2.5]");
  EXPECT_EQ(as_strided(arange(0, 4), {2, 2}, {2, 1}, 0).to_string(), "[[0, 1],\n [2, 3]]");
  EXPECT_THAT(arange(0, 2000).to_string(), HasSubstr("..."));
  EXPECT_EQ(scalar(3).to_string(), "3.");
  EXPECT_EQ(scalar(std::copysign(NAN, -1.0)).to_string(), "nan");
}

TEST(TensorTest, FactoriesCheckTheirArguments) {
  EXPECT_THROW(empty({2, -1}), InvalidArgument);
  EXPECT_THROW(rand({2}, {.dtype = DType::i64}), InvalidArgument);
  EXPECT_THROW(randint(3, 3, {2}), InvalidArgument);
  const std::vector<float> two{1, 2};
  EXPECT_THROW(from_host(std::span<const float>(two), {3}), InvalidArgument);
}

TEST(TensorTest, RandomNumbersFollowFromTheSeed) {
  manual_seed(7);
  const auto first = rand({100}).to_host<float>();
  const auto second = rand({100}).to_host<float>();
  EXPECT_NE(first, second);
  manual_seed(7);
  EXPECT_EQ(rand({100}).to_host<float>(), first);
  for (const float v : first) {
    EXPECT_GE(v, 0);
    EXPECT_LT(v, 1);
  }
}

TEST(TensorTest, NormalNumbersHaveTheirMoments) {
  manual_seed(1);
  const auto values = randn({100'000}, {.dtype = DType::f64}).to_host<double>();
  double sum = 0, squares = 0;
  for (const double v : values) {
    sum += v;
    squares += v * v;
  }
  const auto n = static_cast<double>(values.size());
  EXPECT_NEAR(sum / n, 0, 0.02);  // 6 standard errors
  EXPECT_NEAR(squares / n, 1, 0.03);
}

}  // namespace
}  // namespace tandem
