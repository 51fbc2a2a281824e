// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Options and views from which an op would make sizes that 64 bits do not hold.

#include <limits>

#include <gmock/gmock.h>

#include "tandem/ops/conv.hpp"
#include "tandem/ops/conv1d.hpp"
#include "tandem/ops/conv_transpose2d.hpp"
#include "tandem/ops/index.hpp"
#include "tandem/ops/pool.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/ops/tril.hpp"
#include "tandem/tensor/factories.hpp"

#include "thrown_text.hpp"

namespace tandem {
namespace {

using ::testing::HasSubstr;
using testing::thrown_text;

constexpr std::int64_t kHuge = std::int64_t{1} << 62;
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

TEST(HugeSizeTest, CatAndStackOfExpandedTensors) {
  const Tensor x = zeros({1}).expand({kHuge / 4});
  EXPECT_THROW(cat({x, x, x, x}), InvalidArgument);
  EXPECT_THROW(stack({x, x, x, x}), InvalidArgument);
  const Tensor bytes = zeros({1}, {.dtype = DType::u8}).expand({kHuge});
  EXPECT_THAT(thrown_text([&] { cat({bytes, bytes}); }), HasSubstr("does not fit in 64 bits"));
}

TEST(HugeSizeTest, SplitWhoseSumWraps) {
  EXPECT_THROW(split(zeros({2}), {kMost, kMost, 4}, 0), InvalidArgument);
}

TEST(HugeSizeTest, DiagonalsBeyondTheTriangle) {
  const Tensor x = ones({2, 3});
  EXPECT_EQ(sum(tril(x, kMost)).item(), 6);
  EXPECT_EQ(sum(tril(x, -kMost)).item(), 0);
  EXPECT_EQ(sum(triu(x, kMost)).item(), 0);
  EXPECT_EQ(sum(triu(x, -kMost)).item(), 6);
}

TEST(HugeSizeTest, Convolutions) {
  const Tensor x = zeros({1, 1, 4, 4}), weight = zeros({1, 1, 3, 3});
  EXPECT_THAT(thrown_text([&] {
                conv2d(x, weight, {}, {.padding = {kHuge, kHuge}});
              }),
              HasSubstr("conv2d: 4611686018427387904 * 2 does not fit in 64 bits"));
  EXPECT_THROW(conv2d(x, weight, {}, {.dilation = {kHuge, 1}}), InvalidArgument);
  EXPECT_THROW(conv2d(x, weight, {}, {.padding = {kHuge / 4, kHuge / 4}}), InvalidArgument);
  EXPECT_THROW(conv1d(x.select(0, 0), weight.select(0, 0), {}, {.padding = kHuge}),
               InvalidArgument);
  EXPECT_THROW(conv_transpose2d(x, weight, {}, {.stride = {kMost, 1}}), InvalidArgument);
  EXPECT_THROW(conv_transpose2d(x, weight, {}, {.padding = {kHuge, 1}}), InvalidArgument);
}

TEST(HugeSizeTest, Pools) {
  const Tensor x = zeros({1, 1, 4, 4});
  EXPECT_THROW(max_pool2d(x, {2, 2}, {.padding = {kHuge, 0}}), InvalidArgument);
  EXPECT_THROW(max_pool2d(x, {kMost, kMost}, {.padding = {kHuge - 1, kHuge - 1}}), InvalidArgument);
  EXPECT_EQ(max_pool2d(x, {2, 2}, {.stride = Pair{kMost, kMost}}).shape(), (Shape{1, 1, 1, 1}));
  EXPECT_THROW(adaptive_avg_pool2d(x, {kHuge, kHuge}), InvalidArgument);
}

}  // namespace
}  // namespace tandem
