// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/embedding.hpp"

#include <gmock/gmock.h>

#include "tandem/autograd/gradcheck.hpp"
#include "tandem/nn/embedding.hpp"

#include "ops/near.hpp"
#include "thrown_text.hpp"

namespace tandem {
namespace {

using ::testing::AllOf;
using testing::expect_fused_is_formula;
using ::testing::HasSubstr;
using testing::leaf;
using testing::thrown_text;

Tensor index_2x3() {
  return tensor<std::int64_t>({4, 0, 4, 1, 4, 0}).reshape({2, 3});
}

TEST(EmbeddingTest, LooksRowsUp) {
  const Tensor weight = arange(0, 10, 1, {.dtype = DType::f64}).reshape({5, 2});
  const Tensor y = embedding(index_2x3(), weight);
  EXPECT_EQ(y.shape(), (Shape{2, 3, 2}));
  EXPECT_EQ(y.to_doubles(), (std::vector<double>{8, 9, 0, 1, 8, 9, 2, 3, 8, 9, 0, 1}));
  EXPECT_EQ(embedding(index_2x3().t().to(DType::i32), weight).to_doubles(),
            (std::vector<double>{8, 9, 2, 3, 0, 1, 8, 9, 8, 9, 0, 1}));
}

TEST(EmbeddingTest, GradientSumsTheOccurrencesInTheirOrder) {
  // 1 is lost beside 1e8 in f32, so that another order gives another sum.
  const Tensor weight = leaf({3, 1}, DType::f32);
  const Tensor y = embedding(tensor<std::int64_t>({2, 0, 2, 2, 2}), weight);
  const std::vector<float> dy{1e8F, 5.F, 1.F, -1e8F, 1.F};
  y.backward(from_host(std::span<const float>(dy), {5, 1}));
  EXPECT_EQ(weight.grad().to_host<float>(), (std::vector<float>{5.F, 0.F, 1.F}));
}

TEST(EmbeddingTest, FusedGradientIsTheFormulas) {
  for (const DType t : {DType::f64, DType::f32}) {
    const Tensor index = randint(0, 37, {23, 50});
    for (const auto padding : {std::optional<std::int64_t>(), std::optional<std::int64_t>(-3)}) {
      const auto f = [&](const std::vector<Tensor>& in) {
        return embedding(index, in[0], padding);
      };
      expect_fused_is_formula(f, {leaf({37, 100}, t)}, t == DType::f64 ? 1e-12 : 1e-5);
    }
  }
}

TEST(EmbeddingTest, GradientOfAnIndexThatIsNearlyEverywhereIsItsRowsSum) {
  constexpr std::size_t kRows = 700, kEntries = 9;
  std::vector<std::int64_t> index(kRows, 3);
  for (std::size_t i = 0; i < kRows; i += 5)
    index[i] = static_cast<std::int64_t>(i % kEntries);
  std::vector<double> dy(2 * kRows), expected(2 * kEntries, 0.0);
  for (std::size_t i = 0; i < dy.size(); ++i) {
    dy[i] = static_cast<double>(i * i % 1001);  // whole numbers: sums are exact in any order
    expected[2 * static_cast<std::size_t>(index[i / 2]) + i % 2] += dy[i];
  }
  for (const auto padding : {std::optional<std::int64_t>(), std::optional<std::int64_t>(4)}) {
    const Tensor weight = leaf({kEntries, 2}, DType::f64);
    const Tensor y =
        embedding(from_host(std::span<const std::int64_t>(index), {kRows}), weight, padding);
    y.backward(from_host(std::span<const double>(dy), {kRows, 2}));
    std::vector<double> wanted = expected;
    if (padding) wanted[8] = wanted[9] = 0;
    EXPECT_EQ(weight.grad().to_host<double>(), wanted);
  }
}

TEST(EmbeddingTest, GradientsAgreeWithDifferences) {
  const auto f = [](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{embedding(index_2x3(), in[0])};
  };
  EXPECT_EQ(autograd::gradcheck(f, {leaf({5, 2})}), "");
  EXPECT_EQ(autograd::gradgradcheck(f, {leaf({5, 2})}, testing::twice()), "");
}

TEST(EmbeddingTest, PaddingIsZeroAndGetsNoGradient) {
  nn::Embedding embed(5, 2, {.padding_idx = 4, .dtype = DType::f64});
  EXPECT_EQ(embed.weight.select(0, 4).to_doubles(), std::vector<double>(2, 0.0));
  embed(index_2x3()).sum().backward();
  EXPECT_EQ(embed.weight.grad().to_doubles(), (std::vector<double>{2, 2, 1, 1, 0, 0, 0, 0, 0, 0}));
}

TEST(EmbeddingTest, EmptyIndexGivesZeroGradient) {
  const Tensor weight = leaf({3, 2});
  const Tensor y = embedding(empty({0, 4}, {.dtype = DType::i64}), weight);
  EXPECT_EQ(y.shape(), (Shape{0, 4, 2}));
  y.backward(empty({0, 4, 2}, {.dtype = DType::f64}));
  EXPECT_EQ(weight.grad().to_doubles(), std::vector<double>(6, 0.0));
}

TEST(EmbeddingTest, ErrorsNameIndexPlaceAndVocabulary) {
  const Tensor weight = leaf({4, 2});
  EXPECT_THAT(thrown_text([&] {
                embedding(tensor<std::int64_t>({3, 0, 1, 2, 0, 9}).reshape({2, 3}), weight);
              }),
              AllOf(HasSubstr("embedding: index 9"),
                    HasSubstr("row 1"),
                    HasSubstr("(1, 2)"),
                    HasSubstr("[0, 4)")));
  EXPECT_THAT(thrown_text([&] {
                embedding(tensor<std::int64_t>({0, -1}), weight);
              }),
              AllOf(HasSubstr("index -1"), HasSubstr("row 1")));
  EXPECT_THAT(thrown_text([&] { embedding(leaf({2}), weight); }), HasSubstr("f64 (2)"));
  EXPECT_THAT(thrown_text([&] { embedding(index_2x3(), leaf({4})); }), HasSubstr("f64 (4)"));
  EXPECT_THAT(thrown_text([&] { embedding(index_2x3(), weight, 4); }), HasSubstr("padding_idx 4"));
  EXPECT_THAT(thrown_text([&] { nn::Embedding(4, 2, {.padding_idx = -5}); }), HasSubstr("-5"));
}

}  // namespace
}  // namespace tandem
