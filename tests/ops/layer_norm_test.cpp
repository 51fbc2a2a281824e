// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/nn/layer_norm.hpp"

#include <cmath>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/autograd/gradcheck.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/layer_norm.hpp"

#include "ops/near.hpp"
#include "thrown_text.hpp"

namespace tandem {
namespace {

using ::testing::AllOf;
using testing::expect_fused_is_formula;
using ::testing::HasSubstr;
using testing::leaf;
using testing::near;
using testing::thrown_text;

constexpr double kRowNormEps = 1e-5;
using Inputs = std::vector<Tensor>;

/// A serial loop over rows of `length` in f64; channel c of a row has `inner` elements.
std::vector<double> normalised(const Tensor& x,
                               std::size_t length,
                               std::size_t groups,
                               std::size_t inner,
                               const std::vector<double>& weight,
                               const std::vector<double>& bias) {
  std::vector<double> y = x.to_doubles();
  for (std::size_t row = 0; row < y.size() / length; ++row) {
    double* const v = y.data() + row * length;
    double mean = 0, var = 0;
    for (std::size_t i = 0; i < length; ++i)
      mean += v[i] / static_cast<double>(length);
    for (std::size_t i = 0; i < length; ++i)
      var += (v[i] - mean) * (v[i] - mean) / static_cast<double>(length);
    for (std::size_t i = 0; i < length; ++i) {
      const std::size_t c = row % groups * (length / inner) + i / inner;
      v[i] = (v[i] - mean) / std::sqrt(var + kRowNormEps) * weight[c] + bias[c];
    }
  }
  return y;
}

class LayerNormTest : public ::testing::TestWithParam<DType> {
 protected:
  double tolerance() const { return GetParam() == DType::f64 ? 1e-12 : 2e-5; }
};

TEST_P(LayerNormTest, NormalisesEachRow) {
  // Tails of vectors; many rows: threads; of a GPU a thread, a warp, a block, a large one, many.
  for (const Shape& shape : {Shape{130, 1},
                             Shape{130, 7},
                             Shape{130, 32},
                             Shape{130, 100},
                             Shape{130, 257},
                             Shape{1, 768},
                             Shape{3, 1500},
                             Shape{2, 9001},
                             Shape{2, 17'000}}) {
    const std::int64_t n = shape[1];
    const Tensor x = leaf(shape, GetParam()) * 3.0 + 5.0;
    const Tensor w = leaf({n}, GetParam()), b = leaf({n}, GetParam());
    EXPECT_TRUE(
        near(layer_norm(x, {n}, w, b).to_doubles(),
             normalised(x, static_cast<std::size_t>(n), 1, 1, w.to_doubles(), b.to_doubles()),
             tolerance()))
        << n;
  }
}

TEST_P(LayerNormTest, NormalisesEachGroup) {
  for (const std::int64_t groups : {1, 2, 6}) {
    const Tensor x = leaf({5, 6, 3, 13}, GetParam());
    const Tensor w = leaf({6}, GetParam()), b = leaf({6}, GetParam());
    const auto g = static_cast<std::size_t>(groups);
    EXPECT_TRUE(near(group_norm(x, groups, w, b).to_doubles(),
                     normalised(x, 6 / g * 39, g, 39, w.to_doubles(), b.to_doubles()),
                     tolerance()))
        << groups;
  }
}

TEST_P(LayerNormTest, FusedGradientIsTheFormulas) {
  const double tolerance = GetParam() == DType::f64 ? 1e-12 : 1e-4;
  const auto layer = [](const Inputs& in) { return layer_norm(in[0], {3, 67}, in[1], in[2]); };
  const Inputs rows{
      leaf({150, 3, 67}, GetParam()), leaf({3, 67}, GetParam()), leaf({3, 67}, GetParam())};
  expect_fused_is_formula(layer, rows, tolerance);
  for (const std::int64_t groups : {1, 2, 6}) {
    const auto group = [groups](const Inputs& in) {
      return group_norm(in[0], groups, in[1], in[2]);
    };
    for (const Shape& shape : {Shape{4, 6, 5, 7}, Shape{4, 6}, Shape{40, 6, 80}})
      expect_fused_is_formula(
          group,
          {leaf(shape, GetParam()), leaf({6}, GetParam()), leaf({6}, GetParam())},
          tolerance);
  }
}

TEST_P(LayerNormTest, FusedGradientOfLongRowsIsTheFormulas) {
  const double tolerance = GetParam() == DType::f64 ? 1e-12 : 1e-4;
  for (const std::int64_t n : {1500, 9001, 17'000}) {
    const auto layer = [n](const Inputs& in) { return layer_norm(in[0], {n}, in[1]); };
    expect_fused_is_formula(layer, {leaf({2, n}, GetParam()), leaf({n}, GetParam())}, tolerance);
  }
}

/// What is summed about the first element must not lose the others' digits.
TEST_P(LayerNormTest, AnOutlierComesFirst) {
  const Tensor x = randn({1, 768}, {.dtype = GetParam()});
  x.select(1, 0).fill_(1e4);
  const std::vector<double> ones(768, 1), zeros(768, 0);
  EXPECT_TRUE(
      near(layer_norm(x, {768}).to_doubles(), normalised(x, 768, 1, 1, ones, zeros), tolerance()));
}

TEST_P(LayerNormTest, RowsFarFromZeroKeepTheirVariance) {
  const Tensor x = leaf({4, 96}, GetParam());
  const double tolerance = GetParam() == DType::f64 ? 1e-9 : 2e-3;  // 1e4 has 13 of f32's 24 bits
  EXPECT_TRUE(near(layer_norm(x + 1e4, {96}), layer_norm(x, {96}), tolerance));
}

INSTANTIATE_TEST_SUITE_P(DTypes,
                         LayerNormTest,
                         ::testing::Values(DType::f64, DType::f32),
                         [](const auto& dtype) { return std::string(name(dtype.param)); });

TEST(LayerNormTest, GradientsAgreeWithDifferences) {
  const auto layer = [](const Inputs& in) {
    return Inputs{layer_norm(in[0].transpose(0, 1), {4}, in[1], in[2])};
  };
  const Inputs inputs{leaf({4, 3}), leaf({4}), leaf({4})};
  EXPECT_EQ(autograd::gradcheck(layer, inputs), "");
  EXPECT_EQ(autograd::gradgradcheck(layer, inputs, testing::twice()), "");
  const auto group = [](const Inputs& in) { return Inputs{group_norm(in[0], 2, in[1], in[2])}; };
  const Inputs images{leaf({2, 4, 3}), leaf({4}), leaf({4})};
  EXPECT_EQ(autograd::gradcheck(group, images), "");
  EXPECT_EQ(autograd::gradgradcheck(group, images, testing::twice()), "");
}

TEST(LayerNormTest, PartsThatAreNotThereHaveNoGradient) {
  const auto plain = [](const Inputs& in) { return layer_norm(in[0], {5}); };
  expect_fused_is_formula(plain, {leaf({3, 5})}, 1e-12);
  const Tensor x = leaf({3, 5}).detach(), w = leaf({5});
  const auto frozen = [x](const Inputs& in) { return layer_norm(x, {5}, in[0]); };
  expect_fused_is_formula(frozen, {w}, 1e-12);
}

TEST(LayerNormTest, EmptyBatchGivesZeroGradients) {
  const Inputs in{leaf({0, 5}), leaf({5}), leaf({5})};
  const auto f = [](const Inputs& i) { return layer_norm(i[0], {5}, i[1], i[2]); };
  const Inputs g = testing::gradients(f, in);
  EXPECT_EQ(g[0].shape(), (Shape{0, 5}));
  EXPECT_EQ(g[1].to_doubles(), std::vector<double>(5, 0.0));
}

TEST(LayerNormTest, ErrorsNameBothShapes) {
  const Tensor x = leaf({2, 6});
  EXPECT_THAT(thrown_text([&] { layer_norm(x, {5}); }),
              AllOf(HasSubstr("(2, 6)"), HasSubstr("(5)")));
  EXPECT_THAT(thrown_text([&] { layer_norm(x, {6}, leaf({6}, DType::f32)); }),
              AllOf(HasSubstr("weight f32 (6)"), HasSubstr("expected f64 (6)")));
  EXPECT_THAT(thrown_text([&] { group_norm(x, 4); }),
              AllOf(HasSubstr("6 channels"), HasSubstr("4")));
  EXPECT_THAT(thrown_text([&] { group_norm(x, 2, leaf({2})); }), HasSubstr("expected f64 (6)"));
  EXPECT_THAT(thrown_text([&] { nn::GroupNorm(4, 6); }), HasSubstr("6 channels"));
  EXPECT_THAT(thrown_text([&] { nn::LayerNorm(0); }), HasSubstr("at least 1"));
}

}  // namespace
}  // namespace tandem
