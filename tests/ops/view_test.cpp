// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/tensor/factories.hpp"

#include "thrown_text.hpp"

namespace tandem {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::thrown_text;

bool shares(const Tensor& a, const Tensor& b) {
  return &a.buffer() == &b.buffer();
}

TEST(ViewTest, ViewsShareStorage) {
  const Tensor x = arange(0, 24).reshape({2, 3, 4});
  for (const Tensor& v : {x.permute({2, 0, 1}),
                          x.t(),
                          x.slice(1, {0, 3, 2}),
                          x.select(2, -1),
                          x.unsqueeze(1),
                          x.flatten(1),
                          x.expand({5, 2, 3, 4}),
                          x.narrow(0, 1, 1).squeeze(0)}) {
    EXPECT_TRUE(shares(v, x)) << v.shape();
  }
  EXPECT_THAT(x.select(0, 1).select(1, 2).to_host<std::int64_t>(), ElementsAre(14, 18, 22));
  EXPECT_THAT(x.slice(2, {1, std::nullopt, 2}).select(0, 0).select(0, 0).to_host<std::int64_t>(),
              ElementsAre(1, 3));
}

TEST(ViewTest, ReshapeCopiesOnlyWhereItMust) {
  const Tensor x = arange(0, 24).reshape({2, 3, 4});
  EXPECT_TRUE(shares(x.reshape({6, -1}), x));
  EXPECT_TRUE(shares(x.permute({1, 2, 0}).reshape({3, 2, 2, 2}), x));  // splits a dimension
  const Tensor copied = x.t().reshape({24});
  EXPECT_FALSE(shares(copied, x));
  EXPECT_EQ(copied.to_doubles(), x.t().to_doubles());
  EXPECT_EQ(x.select(2, 1).reshape({6}).to_doubles(), x.select(2, 1).to_doubles());
  EXPECT_EQ(zeros({0, 3}).reshape({3, 0, 5}).shape(), (Shape{3, 0, 5}));
  EXPECT_EQ(scalar(3).reshape({1, 1}).shape(), (Shape{1, 1}));
  // Rows with gaps between them.
  const Tensor gaps = arange(0, 40).reshape({4, 10}).narrow(1, 0, 6);
  EXPECT_TRUE(shares(gaps.reshape({2, 2, 3, 2}), gaps));
  EXPECT_EQ(gaps.reshape({2, 2, 3, 2}).to_doubles(), gaps.to_doubles());
  EXPECT_EQ(gaps.reshape({24}).to_doubles(), gaps.to_doubles());
}

TEST(ViewTest, BadArgumentsAreNamed) {
  const Tensor x = ones({2, 3});
  EXPECT_THAT(thrown_text([&] {
                x.reshape({4, 2});
              }),
              AllOf(HasSubstr("(2, 3)"), HasSubstr("(4, 2)")));
  EXPECT_THAT(thrown_text([&] { x.reshape({-1, 4}); }), HasSubstr("6 elements"));
  EXPECT_THAT(thrown_text([&] { x.reshape({-1, -1}); }), HasSubstr("more than once"));
  EXPECT_THAT(thrown_text([&] { zeros({0}).reshape({-1, 0}); }), HasSubstr("do not fit"));
  EXPECT_THAT(thrown_text([&] { x.permute({0, 0}); }), HasSubstr("twice"));
  EXPECT_THAT(thrown_text([&] { x.permute({0}); }), HasSubstr("(0)"));
  EXPECT_THAT(thrown_text([&] {
                x.expand({2, 4});
              }),
              AllOf(HasSubstr("(2, 3)"), HasSubstr("(2, 4)")));
  EXPECT_THAT(thrown_text([&] { x.transpose(0, 2); }), HasSubstr("transpose"));
  EXPECT_THAT(thrown_text([&] { x.narrow(1, 2, 2); }),
              AllOf(HasSubstr("2 entries from 2 on"), HasSubstr("(2, 3)")));
  EXPECT_THAT(thrown_text([&] { x.select(0, 2); }), HasSubstr("index 2"));
  EXPECT_THAT(thrown_text([&] { x.slice(0, {0, 2, 0}); }), HasSubstr("step is 0"));
  EXPECT_THAT(thrown_text([&] { x.flatten(1, 0); }), HasSubstr("flatten"));
}

TEST(ViewTest, SlicesAreCutOffAsInPython) {
  const Tensor x = arange(0, 5);
  EXPECT_THAT(x.slice(0, {-2}).to_host<std::int64_t>(), ElementsAre(3, 4));
  EXPECT_THAT(x.slice(0, {1, 100}).to_host<std::int64_t>(), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(x.slice(0, {4, 2}).shape(), Shape{0});
}

}  // namespace
}  // namespace tandem
