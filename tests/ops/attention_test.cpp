// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/attention.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/autograd/gradcheck.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/compare.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/runtime/runtime.hpp"

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

using Inputs = std::vector<Tensor>;
constexpr double kNone = -std::numeric_limits<double>::infinity();

/// A serial loop over (heads, queries, dim), (heads, keys, dim), (heads, keys, values).
/// @param bias  (heads, queries, keys): what is added to scores.
std::vector<double> expected(const Tensor& q,
                             const Tensor& k,
                             const Tensor& v,
                             const std::vector<double>& bias,
                             double scale) {
  const auto size = [](const Tensor& x, int d) { return static_cast<std::size_t>(x.size(d)); };
  const std::size_t rows = size(q, -2), dim = size(q, -1), keys = size(k, -2), values = size(v, -1);
  const std::vector<double> vq = q.to_doubles(), vk = k.to_doubles(), vv = v.to_doubles();
  std::vector<double> y;
  for (std::size_t line = 0; line < vq.size() / dim; ++line) {
    const std::size_t head = line / rows;
    std::vector<double> share(keys), sum(values, 0.0);
    double total = 0;
    for (std::size_t j = 0; j < keys; ++j) {
      double score = 0;
      for (std::size_t d = 0; d < dim; ++d)
        score += vq[line * dim + d] * vk[(head * keys + j) * dim + d];
      share[j] = std::exp(score * scale + bias[line * keys + j]);
      total += share[j];
    }
    for (std::size_t j = 0; total > 0 && j < keys; ++j) {
      for (std::size_t d = 0; d < values; ++d)
        sum[d] += share[j] / total * vv[(head * keys + j) * values + d];
    }
    y.insert(y.end(), sum.begin(), sum.end());
  }
  return y;
}

struct Sizes {
  std::int64_t heads, queries, keys, dim, values;
};

class AttentionTest : public ::testing::TestWithParam<DType> {
 protected:
  double tolerance() const { return GetParam() == DType::f64 ? 1e-12 : 1e-5; }
  Inputs inputs(const Sizes& n) const {
    return {leaf({n.heads, n.queries, n.dim}, GetParam()),
            leaf({n.heads, n.keys, n.dim}, GetParam()),
            leaf({n.heads, n.keys, n.values}, GetParam())};
  }
};

// One block, several, and tails of both kinds; more keys than a block holds, also where a query
// sees those before it alone; dimensions of whole vectors and of parts.
const std::vector<Sizes> kSizes{{1, 1, 1, 1, 1},
                                {2, 5, 7, 4, 3},
                                {3, 64, 64, 8, 8},
                                {2, 130, 70, 16, 5},
                                {1, 70, 1100, 3, 8},
                                {2, 97, 97, 24, 40},
                                {1, 600, 530, 9, 17}};

TEST_P(AttentionTest, IsSoftmaxOfScoresTimesValues) {
  for (const Sizes& n : kSizes) {
    const Inputs x = inputs(n);
    std::vector<double> bias(static_cast<std::size_t>(n.heads * n.queries * n.keys), 0.0);
    EXPECT_TRUE(near(scaled_dot_product_attention(x[0], x[1], x[2]).to_doubles(),
                     expected(x[0], x[1], x[2], bias, 1 / std::sqrt(static_cast<double>(n.dim))),
                     tolerance()))
        << n.queries;
    for (std::size_t i = 0; i < bias.size(); ++i) {
      const auto key = static_cast<std::int64_t>(i) % n.keys;
      if (key > static_cast<std::int64_t>(i) / n.keys % n.queries) bias[i] = kNone;
    }
    EXPECT_TRUE(
        near(scaled_dot_product_attention(x[0], x[1], x[2], {}, {.causal = true, .scale = 0.7})
                 .to_doubles(),
             expected(x[0], x[1], x[2], bias, 0.7),
             tolerance()))
        << n.queries << " causal";
  }
}

TEST_P(AttentionTest, MasksHideKeysAndAddToScores) {
  const Sizes n{3, 70, 9, 4, 4};
  const Inputs x = inputs(n);
  const Tensor added = leaf({n.queries, n.keys}, GetParam()).detach();
  const Tensor sees = gt(leaf({n.heads, 1, n.keys}, GetParam()).detach(), 0.0);
  std::vector<double> bias, hides;
  const std::vector<double> numbers = added.to_doubles(), seen = sees.to_doubles();
  for (std::size_t i = 0; i < static_cast<std::size_t>(n.heads * n.queries * n.keys); ++i) {
    const std::size_t head = i / static_cast<std::size_t>(n.queries * n.keys), key = i % 9;
    bias.push_back(numbers[i % numbers.size()]);
    hides.push_back(seen[head * 9 + key] != 0 ? 0 : kNone);
  }
  EXPECT_TRUE(near(scaled_dot_product_attention(x[0], x[1], x[2], added).to_doubles(),
                   expected(x[0], x[1], x[2], bias, 0.5),
                   tolerance()));
  EXPECT_TRUE(near(scaled_dot_product_attention(x[0], x[1], x[2], sees).to_doubles(),
                   expected(x[0], x[1], x[2], hides, 0.5),
                   tolerance()));
}

TEST_P(AttentionTest, QueryThatSeesNothingGivesZerosAndNoGradient) {
  const Inputs x = inputs({2, 3, 4, 5, 5});
  const Tensor row = tensor<std::int64_t>({1, 0, 1}).reshape({3, 1});
  const auto masked = [&](const Tensor& mask) {
    return [mask](const Inputs& in) {
      return scaled_dot_product_attention(in[0], in[1], in[2], mask);
    };
  };
  const Tensor sees = ne(row, 0.0);
  const Tensor added = where(sees, zeros({3, 1}, {.dtype = GetParam()}), kNone);
  for (const Tensor& mask : {sees, added}) {
    const Tensor y = masked(mask)(x);
    EXPECT_EQ(y.narrow(1, 1, 1).to_doubles(), std::vector<double>(10, 0.0));
    expect_fused_is_formula(masked(mask), x, tolerance());
    for (const Tensor& g : testing::gradients(masked(mask), x))
      EXPECT_EQ(isfinite(g).to_doubles(),
                std::vector<double>(static_cast<std::size_t>(g.numel()), 1.0));
  }
}

TEST_P(AttentionTest, FusedGradientIsTheFormulas) {
  const Tensor sees = ne(randint(0, 3, {70, 1100}), 0.0);
  for (const Sizes& n : kSizes) {
    const Inputs x = inputs(n);
    for (const bool causal : {false, true}) {
      for (const double p : {0.0, 0.4}) {
        const bool masked = n.keys == 1100 || n.keys == 64;
        const auto f = [&](const Inputs& in) {
          manual_seed(3);  // one mask for both
          return scaled_dot_product_attention(
              in[0],
              in[1],
              in[2],
              masked ? sees.narrow(0, 0, n.queries).narrow(1, 0, n.keys) : Tensor(),
              {.causal = causal, .dropout_p = p});
        };
        expect_fused_is_formula(f, x, 10 * tolerance());
      }
    }
  }
}

TEST_P(AttentionTest, ViewsOfOneProjectionAreReadWhereTheyLie) {
  const Tensor qkv = leaf({2, 33, 3 * 12}, GetParam());
  const auto part = [](const Tensor& x, std::int64_t i) {
    return x.narrow(2, 12 * i, 12).reshape({2, 33, 3, 4}).transpose(1, 2);
  };
  const auto by_views = [&](const Inputs& in) {
    const Tensor y = scaled_dot_product_attention(
        part(in[0], 0), part(in[0], 1), part(in[0], 2), {}, {.causal = true});
    const Tensor merged = y.transpose(1, 2);
    EXPECT_TRUE(merged.is_contiguous()) << "heads lie as those of q";
    return merged.reshape({2, 33, 12});
  };
  const auto packed = [](const Inputs& in) {
    return packed_attention(in[0], 3, {}, {.causal = true});
  };
  EXPECT_TRUE(near(packed({qkv}), by_views({qkv}), tolerance()));
  EXPECT_TRUE(near(testing::gradients(packed, {qkv})[0],
                   testing::gradients(by_views, {qkv})[0],
                   10 * tolerance()));
  expect_fused_is_formula(packed, {qkv}, 10 * tolerance());
  const auto transposed = [](const Inputs& in) {
    return packed_attention(in[0].transpose(0, 1), 1);
  };
  expect_fused_is_formula(transposed, {qkv}, 10 * tolerance());
}

INSTANTIATE_TEST_SUITE_P(DTypes,
                         AttentionTest,
                         ::testing::Values(DType::f64, DType::f32),
                         [](const auto& dtype) { return std::string(name(dtype.param)); });

TEST(AttentionTest, GradientsAgreeWithDifferences) {
  const Tensor mask = leaf({1, 4, 5}).detach();
  const auto attend = [&](const Inputs& in) {
    manual_seed(5);
    return Inputs{scaled_dot_product_attention(
        in[0].transpose(-2, -1), in[1], in[2], mask, {.causal = true, .dropout_p = 0.3})};
  };
  const Inputs x{leaf({2, 3, 4}), leaf({5, 3}), leaf({2, 5, 2})};  // k broadcasts
  EXPECT_EQ(autograd::gradcheck(attend, x), "");
  EXPECT_EQ(autograd::gradgradcheck(attend, x, testing::twice()), "");
  const auto packed = [](const Inputs& in) { return Inputs{packed_attention(in[0], 2)}; };
  EXPECT_EQ(autograd::gradcheck(packed, {leaf({2, 3, 12})}), "");
  EXPECT_EQ(autograd::gradgradcheck(packed, {leaf({2, 3, 12})}, testing::twice()), "");
}

TEST(AttentionTest, DropoutKeepsTheExpectation) {
  manual_seed(8);
  const Tensor q = zeros({4, 2, 64, 3}), v = ones({4, 2, 64, 3});  // each key has 1 / 64
  const Tensor y = scaled_dot_product_attention(q, q, v, {}, {.dropout_p = 0.25});
  EXPECT_NEAR(y.mean().item(), 1.0, 0.02);
  EXPECT_GT(var(y.select(3, 0)).item(), 0.1 / 64);  // 1/3 / 64
  EXPECT_LT(var(y.select(3, 0)).item(), 1.0 / 64);
}

TEST(AttentionTest, EmptySizesGiveZeros) {
  const Tensor q = leaf({2, 3, 4}), none = leaf({2, 0, 4});
  const Tensor y = scaled_dot_product_attention(q, none, none);
  EXPECT_EQ(y.to_doubles(), std::vector<double>(24, 0.0));
  y.sum().backward();
  EXPECT_EQ(q.grad().to_doubles(), std::vector<double>(24, 0.0));
  EXPECT_EQ(scaled_dot_product_attention(none, q, q).shape(), (Shape{2, 0, 4}));
}

TEST(AttentionTest, ErrorsNameShapesAndTypes) {
  const Tensor q = leaf({2, 3, 4}), k = leaf({2, 5, 4});
  const auto text =
      [&](const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& mask = {}) {
        return thrown_text([&] { scaled_dot_product_attention(a, b, c, mask); });
      };
  EXPECT_THAT(text(q, leaf({2, 5, 3}), k), AllOf(HasSubstr("(2, 3, 4)"), HasSubstr("(2, 5, 3)")));
  EXPECT_THAT(text(q, k, q), HasSubstr("do not fit"));
  EXPECT_THAT(text(q, leaf({2, 5, 4}, DType::f32), k), HasSubstr("k f32 (2, 5, 4)"));
  EXPECT_THAT(text(q, k, k, leaf({5, 3}).detach()),
              AllOf(HasSubstr("(5, 3)"), HasSubstr("(2, 3, 5)")));
  EXPECT_THAT(text(q, k, k, leaf({3, 5}, DType::f32).detach()), HasSubstr("bool or f64"));
  EXPECT_THAT(text(q, k, k, leaf({3, 5})), HasSubstr("requires grad"));
  EXPECT_THAT(thrown_text([&] {
                packed_attention(leaf({2, 3, 10}), 2);
              }),
              AllOf(HasSubstr("(2, 3, 10)"), HasSubstr("2 heads")));
  EXPECT_THAT(thrown_text([&] {
                packed_attention(leaf({1, 2, 6}), 1, {}, {.dropout_p = 1});
              }),
              HasSubstr("dropout_p is 1"));
}

}  // namespace
}  // namespace tandem
