// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/dropout.hpp"

#include <cmath>

#include <gmock/gmock.h>

#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/compare.hpp"
#include "tandem/ops/index.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"

#include "thrown_text.hpp"

namespace tandem {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using testing::thrown_text;

/// dropout(x, 0.5) at a given place of the random numbers: rows [begin, end) of a batch.
Tensor dropped(const Tensor& x,
               RowRange rows,
               std::uint64_t forward = 3,
               const char* path = "net.drop") {
  auto frame =
      std::make_shared<ForwardFrame>(ForwardFrame{.seed = 11, .forward = forward, .calls = {}});
  const ContextScope scope([&](Context& c) {
    c.frame = frame;
    c.rows = rows;
    c.module_path = std::make_shared<const std::string>(path);
  });
  return dropout(x, 0.5);
}

TEST(DropoutTest, MasksDoNotDependOnTheChunks) {
  const Tensor x = randn({10, 3, 7});
  const std::vector<double> whole = dropped(x, {}).to_doubles();
  std::vector<Tensor> parts;
  for (const auto& [begin, end] : {std::pair<std::int64_t, std::int64_t>{0, 4}, {4, 5}, {5, 10}}) {
    parts.push_back(dropped(x.narrow(0, begin, end - begin), {begin, end}));
  }
  EXPECT_EQ(cat(parts).to_doubles(), whole);
}

/// Tokens: a row of the batch is several rows of the tensor.
TEST(DropoutTest, MasksOfFlattenedRowsDoNotDependOnTheChunks) {
  const Tensor x = randn({12, 5});
  const std::vector<double> whole = dropped(x, {0, 4}).to_doubles();
  const Tensor a = dropped(x.narrow(0, 0, 3), {0, 1}), b = dropped(x.narrow(0, 3, 9), {1, 4});
  EXPECT_EQ(cat({a, b}).to_doubles(), whole);
}

TEST(DropoutTest, MasksDoNotDependOnLayoutOrThreads) {
  const Tensor x = randn({6, 33, 20, 11});
  const std::vector<double> expected = dropped(x, {}).to_doubles();
  EXPECT_EQ(dropped(x.contiguous(MemoryFormat::channels_last), {}).to_doubles(), expected);
  const ContextScope scope([](Context& c) { c.threads = 3; });
  EXPECT_EQ(dropped(x, {}).to_doubles(), expected);
}

TEST(DropoutTest, MasksDependOnForwardPathAndCall) {
  const Tensor x = ones({4, 64});
  const std::vector<double> first = dropped(x, {}).to_doubles();
  EXPECT_EQ(dropped(x, {}).to_doubles(), first);
  EXPECT_NE(dropped(x, {}, 4).to_doubles(), first);
  EXPECT_NE(dropped(x, {}, 3, "net.other").to_doubles(), first);
  const auto frame = std::make_shared<ForwardFrame>();
  const ContextScope scope([&](Context& c) { c.frame = frame; });
  const std::vector<double> one = dropout(x, 0.5).to_doubles(), two = dropout(x, 0.5).to_doubles();
  EXPECT_NE(one, two);
}

TEST(DropoutTest, WithoutAFrameItFollowsTheSeed) {
  const Tensor x = ones({4, 64});
  manual_seed(5);
  const std::vector<double> one = dropout(x, 0.5).to_doubles(), two = dropout(x, 0.5).to_doubles();
  EXPECT_NE(one, two);
  manual_seed(5);
  EXPECT_EQ(dropout(x, 0.5).to_doubles(), one);
}

TEST(DropoutTest, KeepsTheMeanAndTheRate) {
  const Tensor y = dropout(ones({1000, 257}), 0.3);
  const double kept = sum(ne(y, 0.0)).item() / 257'000;
  EXPECT_NEAR(kept, 0.7, 5 * std::sqrt(0.3 * 0.7 / 257'000));
  EXPECT_NEAR(mean(y).item(), kept / 0.7, 1e-6);
  // Neighbours are independent: both kept in 0.49 of the cases.
  const Tensor m = ne(y, 0.0).to(DType::f32);
  EXPECT_NEAR(mean(m.narrow(1, 0, 256) * m.narrow(1, 1, 256)).item(), 0.49, 0.01);
  EXPECT_NEAR(mean(m.narrow(0, 0, 999) * m.narrow(0, 1, 999)).item(), 0.49, 0.01);
}

TEST(DropoutTest, GradientIsThatOfTheMask) {
  const Tensor x = ones({8, 8}).requires_grad_();
  const Tensor y = dropout(x, 0.25);
  sum(y).backward();
  EXPECT_EQ(x.grad().to_doubles(), y.to_doubles());
}

TEST(DropoutTest, ArgumentsAreChecked) {
  const Tensor x = ones({2, 2});
  EXPECT_TRUE(dropout(x, 0).is(x));
  EXPECT_THAT(thrown_text([&] { dropout(x, 1); }), HasSubstr("p is 1"));
  EXPECT_THAT(thrown_text([&] { dropout(x, -0.1); }), HasSubstr("-0.1"));
  EXPECT_THAT(thrown_text([&] { dropout(ones({2}, {.dtype = DType::i64}), 0.5); }),
              HasSubstr("i64"));
  EXPECT_THAT(thrown_text([&] { dropout(x, 0.5, {.row_dim = 2}); }), HasSubstr("dropout"));
  EXPECT_EQ(dropout(zeros({0, 3}), 0.5).shape(), (Shape{0, 3}));
}

}  // namespace
}  // namespace tandem
