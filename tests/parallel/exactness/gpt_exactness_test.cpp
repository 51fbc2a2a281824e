// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "tandem/nn/models/gpt.hpp"
#include "tandem/nn/replicate.hpp"
#include "tandem/optim/adam.hpp"

#include "devices.hpp"
#include "parallel/nets.hpp"

// A transformer trains on several devices as on one: dropout of embeddings, probabilities and
// branches, and a weight that two layers share.
namespace tandem::parallel::test {
namespace {

constexpr std::int64_t kVocabulary = 13;

nn::models::GptOptions options(DType t) {
  return {.layers = 2,
          .width = 12,
          .heads = 3,
          .context = 9,
          .vocabulary = kVocabulary,
          .dropout = 0.2,
          .dtype = t};
}

/// Rows of tokens and the tokens that follow; some of these do not count.
Batch tokens(int step) {
  manual_seed(300 + static_cast<std::uint64_t>(step));
  const std::int64_t rows = step % 5 == 4 ? 4 : 7, length = 9 - step % 3;
  Batch batch{randint(0, kVocabulary, {rows, length}), randint(0, kVocabulary, {rows, length})};
  batch.labels.select(0, step % rows).fill_(-100);
  return batch;
}

const auto kTokenLoss = [](nn::models::Gpt& net, const Batch& b) {
  return cross_entropy_sum(net(b.x).flatten(0, 1), b.labels.flatten());
};

// The bias of keys moves all scores of a query alike: its gradient is zero but for rounding, which
// AdamW would turn into steps (docs/exactness.md) with a smaller eps.
const optim::AdamWOptions kAdam{.lr = 0.01, .eps = 1e-6};

Values train_alone(nn::models::Gpt net) {
  optim::AdamW optimizer(net.named_parameters(), kAdam);
  for (int step = 0; step < kSteps; ++step) {
    const Batch b = tokens(step);
    optimizer.zero_grad();
    cross_entropy(net(b.x).flatten(0, 1), b.labels.flatten()).backward();
    optimizer.step();
  }
  return values_of(net);
}

Values train_parallel(nn::models::Gpt net, const DataParallelOptions& how) {
  optim::AdamW optimizer(net.named_parameters(), kAdam);
  DataParallel dp(net, how);
  for (int step = 0; step < kSteps; ++step)
    dp.step(tokens(step), kTokenLoss, &optimizer);
  EXPECT_TRUE(net.head.weight.is(net.embed.weight));
  return values_of(net);
}

TEST(GptExactnessTest, TwentyStepsInF64EqualOneDevice) {
  manual_seed(5);
  const nn::models::Gpt net(options(DType::f64));
  const Values alone = train_alone(nn::clone(net));
  EXPECT_GT(difference(values_of(const_cast<nn::models::Gpt&>(net)), alone), 1e-3) << "it trains";
  for (const int n : {2, 3})
    EXPECT_LE(difference(train_parallel(nn::clone(net), {.devices = devices(n)}), alone), 1e-12)
        << n;
  EXPECT_LE(
      difference(train_parallel(nn::clone(net), {.devices = devices(3), .gpu0_bsz = 1}), alone),
      1e-12);
}

TEST(GptExactnessTest, MicroBatchesAndRecomputationEqualOneDevice) {
  nn::models::GptOptions o = options(DType::f64);
  manual_seed(5);
  const Values alone = train_alone(nn::models::Gpt(o));
  o.recompute = true;
  manual_seed(5);
  const nn::models::Gpt net(o);
  EXPECT_EQ(train_alone(nn::clone(net)), alone);  // bit for bit
  const DataParallelOptions parts{.devices = devices(3), .accumulate = 3};
  EXPECT_LE(difference(train_parallel(nn::clone(net), parts), alone), 1e-12);
}

TEST(GptExactnessTest, TwentyStepsInF32EqualOneDevice) {
  manual_seed(5);
  const nn::models::Gpt net(options(DType::f32));
  const Values alone = train_alone(nn::clone(net));
  EXPECT_LE(difference(train_parallel(nn::clone(net), {.devices = devices(3)}), alone), 1e-3);
}

}  // namespace
}  // namespace tandem::parallel::test
