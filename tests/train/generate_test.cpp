// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/train/generate.hpp"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>

#include "tandem/core/error.hpp"
#include "tandem/tensor/factories.hpp"

#include "thrown_text.hpp"

namespace tandem::training::test {
namespace {

using tandem::testing::thrown_text;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr std::int64_t kTokens = 4;

/// Says that token k is followed by k + 1 with weight 8, by k + 2 with weight 2, by others with 1.
Tensor next_tokens(const Tensor& x) {
  const std::vector<std::int64_t> tokens = x.to_host<std::int64_t>();
  std::vector<double> logits;
  for (const std::int64_t t : tokens) {
    for (std::int64_t c = 0; c < kTokens; ++c) {
      const std::int64_t step = (c - t + kTokens) % kTokens;
      logits.push_back(std::log(step == 1 ? 8.0 : step == 2 ? 2.0 : 1.0));
    }
  }
  return from_host(std::span<const double>(logits), {1, x.size(1), kTokens});
}

std::vector<std::int64_t> made(const GenerateOptions& options,
                               const std::vector<std::int32_t>& prompt = {0}) {
  std::vector<std::int64_t> tokens;
  generate(next_tokens, prompt, options, [&](std::int64_t t) {
    tokens.push_back(t);
    return true;
  });
  return tokens;
}

TEST(GenerateTest, WithoutTemperatureTheLikeliestFollows) {
  EXPECT_THAT(made({.tokens = 6, .temperature = 0}, {3, 1}), ElementsAre(2, 3, 0, 1, 2, 3));
  EXPECT_THAT(made({.tokens = 6, .top_k = 1, .seed = 5}, {3, 1}), ElementsAre(2, 3, 0, 1, 2, 3));
  EXPECT_THAT(made({.tokens = 0}), SizeIs(0));
}

/// Share of tokens that are the one before plus `step`.
double share(const std::vector<std::int64_t>& tokens, std::int64_t step) {
  std::int64_t found = 0, before = 0;
  for (const std::int64_t t : tokens) {
    found += (t - before + kTokens) % kTokens == step;
    before = t;
  }
  return static_cast<double>(found) / static_cast<double>(tokens.size());
}

TEST(GenerateTest, DrawsByTheProbabilities) {
  const auto n = std::int64_t{4000};
  const auto tokens = made({.tokens = n});
  EXPECT_NEAR(share(tokens, 1), 8.0 / 12, 0.03);
  EXPECT_NEAR(share(tokens, 2), 2.0 / 12, 0.03);
  // Weights to the power of 1 / temperature.
  EXPECT_NEAR(share(made({.tokens = n, .temperature = 0.5}), 1), 64.0 / 70, 0.03);
  // Among the two likeliest.
  const auto two = made({.tokens = n, .top_k = 2});
  EXPECT_NEAR(share(two, 1), 0.8, 0.03);
  EXPECT_NEAR(share(two, 2), 0.2, 0.03);
}

TEST(GenerateTest, EqualSeedsGiveEqualTokens) {
  EXPECT_EQ(made({.tokens = 50, .seed = 3}), made({.tokens = 50, .seed = 3}));
  EXPECT_NE(made({.tokens = 50, .seed = 3}), made({.tokens = 50, .seed = 4}));
  // A longer text begins as a shorter one.
  auto longer = made({.tokens = 60, .seed = 3});
  longer.resize(50);
  EXPECT_EQ(longer, made({.tokens = 50, .seed = 3}));
}

TEST(GenerateTest, TheModelSeesTheLastTokensOfItsContext) {
  std::vector<std::vector<std::int64_t>> seen;
  generate(
      [&](const Tensor& x) {
        seen.push_back(x.to_host<std::int64_t>());
        return next_tokens(x);
      },
      {0, 1},
      {.tokens = 3, .context = 3, .temperature = 0},
      [](std::int64_t) { return true; });
  EXPECT_THAT(seen, ElementsAre(ElementsAre(0, 1), ElementsAre(0, 1, 2), ElementsAre(1, 2, 3)));
}

TEST(GenerateTest, EndsWhereTheCallerSays) {
  int calls = 0;
  generate(next_tokens, {0}, {.tokens = 100}, [&](std::int64_t) { return ++calls < 7; });
  EXPECT_EQ(calls, 7);
}

TEST(GenerateTest, RefusesWhatIsOutOfRange) {
  EXPECT_THAT(thrown_text([] { made({}, {}); }), HasSubstr("prompt is empty"));
  EXPECT_THAT(thrown_text([] { made({.temperature = -1}); }), HasSubstr("temperature is -1"));
  EXPECT_THAT(thrown_text([] { made({.top_k = 0}); }), HasSubstr("top_k is 0"));
  const auto broken = [](const Tensor& x) {
    return full({1, x.size(1), kTokens}, std::numeric_limits<double>::quiet_NaN());
  };
  EXPECT_THAT(thrown_text([&] { generate(broken, {0}, {}, [](std::int64_t) { return true; }); }),
              HasSubstr("not finite"));
}

}  // namespace
}  // namespace tandem::training::test
