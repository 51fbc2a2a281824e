// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/index.hpp"

#include <gmock/gmock.h>

#include "tandem/ops/reduce.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"

#include "thrown_text.hpp"

namespace tandem {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::thrown_text;

Tensor index(std::initializer_list<std::int64_t> values) {
  return tensor<std::int64_t>(values);
}

TEST(IndexTest, EntriesOutsideAreNamed) {
  const Tensor x = ones({3, 4});
  EXPECT_THAT(thrown_text([&] {
                index_select(x, 0, index({0, 2, 3}));
              }),
              AllOf(HasSubstr("index_select"),
                    HasSubstr("index 3"),
                    HasSubstr("row 2"),
                    HasSubstr("[0, 3)")));
  EXPECT_THAT(thrown_text([&] { index_select(x, 1, index({-1})); }), HasSubstr("index -1"));
  EXPECT_THAT(thrown_text([&] {
                gather(x, 1, index({0, 9}).reshape({2, 1}));
              }),
              AllOf(HasSubstr("9"), HasSubstr("row 1")));
  EXPECT_THAT(thrown_text([&] {
                scatter_add(x, 0, index({7}).reshape({1, 1}), x);
              }),
              HasSubstr("7"));
  EXPECT_THAT(thrown_text([&] {
                index_select(zeros({0, 2}), 0, index({0}));
              }),
              HasSubstr("nothing"));
}

TEST(IndexTest, WrongShapesAndTypesAreNamed) {
  const Tensor x = ones({3, 4});
  EXPECT_THAT(thrown_text([&] { index_select(x, 0, ones({2})); }), HasSubstr("f32 (2)"));
  EXPECT_THAT(thrown_text([&] {
                index_select(x, 0, index({0}).reshape({1, 1}));
              }),
              HasSubstr("1-D"));
  EXPECT_THAT(thrown_text([&] {
                gather(x, 1, index({0, 0, 0, 0}).reshape({4, 1}));
              }),
              AllOf(HasSubstr("(4, 1)"), HasSubstr("(3, 4)")));
  EXPECT_THAT(thrown_text([&] {
                cat({x, ones({3, 5})});
              }),
              AllOf(HasSubstr("(3, 4)"), HasSubstr("(3, 5)")));
  EXPECT_THAT(thrown_text([&] { cat({}); }), HasSubstr("no tensors"));
  EXPECT_THAT(thrown_text([&] {
                stack({x, ones({4, 3})});
              }),
              AllOf(HasSubstr("(3, 4)"), HasSubstr("(4, 3)")));
  EXPECT_THAT(thrown_text([&] { split(x, {1, 1}); }), AllOf(HasSubstr("2"), HasSubstr("(3, 4)")));
  EXPECT_THAT(thrown_text([&] { slice_backward(x, {3, 9}, 1, {0, 3}); }), HasSubstr("(3, 9)"));
}

TEST(IndexTest, JoinsManyPartsAndKeepsChannelsLast) {
  std::vector<Tensor> parts;
  for (int i = 0; i < 20; ++i)
    parts.push_back(full({1}, i));
  EXPECT_EQ(sum(cat(parts)).item(), 190);
  const Tensor x = randn({2, 3, 4, 5}).contiguous(MemoryFormat::channels_last);
  EXPECT_TRUE(cat({x, x}, 0).is_contiguous(MemoryFormat::channels_last));
  EXPECT_EQ(cat({tensor<std::int32_t>({1}), tensor({2.5})}).dtype(), DType::f64);
}

TEST(IndexTest, SplitsAreViewsThatJoinAgain) {
  const Tensor x = randn({7, 3});
  const std::vector<Tensor> parts = split(x, {2, 0, 5});
  EXPECT_EQ(&parts[2].buffer(), &x.buffer());
  EXPECT_EQ(parts[1].shape(), (Shape{0, 3}));
  EXPECT_EQ(cat(parts).to_doubles(), x.to_doubles());
}

TEST(IndexTest, RepeatedEntriesAddUp) {
  const Tensor y =
      scatter_add(zeros({3}), 0, index({1, 1, 2, 1}), tensor({1.0f, 2.0f, 4.0f, 8.0f}));
  EXPECT_THAT(y.to_doubles(), ElementsAre(0, 11, 4));
  const Tensor rows = index_select(arange(0, 12).reshape({3, 4}), 0, index({2, 0}));
  EXPECT_THAT(rows.to_doubles(), ElementsAre(8, 9, 10, 11, 0, 1, 2, 3));
}

/// Long lines, whose entries meet at few places, by an index of their own and by one that they
/// share.
TEST(ScatterAddTest, LongLinesAddUpInTheirOrder) {
  const std::int64_t n = 1500;
  manual_seed(6);
  for (const bool shared : {false, true}) {
    const Tensor index = shared ? randint(0, 7, {n, 1}).expand({n, 3}) : randint(0, 7, {n, 3});
    const Tensor source = randn({3, n}).t(), x = randn({7, 3});
    std::vector<float> expected = x.to_host<float>();
    const std::vector<float> from = source.contiguous().to_host<float>();
    const std::vector<std::int64_t> to = index.contiguous().to_host<std::int64_t>();
    for (std::size_t i = 0; i < from.size(); ++i)
      expected[static_cast<std::size_t>(to[i]) * 3 + i % 3] += from[i];
    EXPECT_EQ(scatter_add(x, 0, index, source).to_host<float>(), expected) << shared;
  }
}

TEST(OneHot, NamesTheEntryThatIsOutside) {
  const Tensor entries = tensor<std::int64_t>({0, 3});
  EXPECT_THAT(thrown_text([&] { one_hot(entries, 3); }),
              HasSubstr("one_hot: class 3 in row 1 is outside [0, 3)"));
  EXPECT_THAT(thrown_text([&] { one_hot(entries, 0); }), HasSubstr("num_classes is 0"));
  EXPECT_EQ(one_hot(entries.narrow(0, 0, 0), 2).shape(), Shape({0, 2}));
}

}  // namespace
}  // namespace tandem
