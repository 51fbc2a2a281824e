// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "tandem/nn/models/resnet.hpp"
#include "tandem/nn/replicate.hpp"
#include "tandem/optim/sgd.hpp"

#include "devices.hpp"
#include "parallel/nets.hpp"

// A residual network trains on several devices as on one: twenty batch norms, one after the other,
// add up their statistics over the replicas.
namespace tandem::parallel::test {
namespace {

const optim::SGDOptions kSgd{.lr = 0.02, .momentum = 0.9, .weight_decay = 1e-3};

nn::models::ResNet make_net(nn::models::ResNetOptions options = {}) {
  manual_seed(5);
  options.classes = 5;
  options.width = 2;
  options.dtype = DType::f64;
  return nn::models::resnet18(options);
}

Batch images(int step) {
  manual_seed(500 + static_cast<std::uint64_t>(step));
  const std::int64_t rows = step % 5 == 4 ? 6 : 11;
  return {randn({rows, 3, 12, 9}, {.dtype = DType::f64}), randint(0, 5, {rows})};
}

Values train_alone(nn::models::ResNet net) {
  optim::SGD optimizer(net.named_parameters(), kSgd);
  for (int step = 0; step < kSteps; ++step) {
    const Batch b = images(step);
    optimizer.zero_grad();
    cross_entropy(net(b.x), b.labels).backward();
    optimizer.step();
  }
  return values_of(net);
}

Values train_parallel(nn::models::ResNet net, const DataParallelOptions& how) {
  optim::SGD optimizer(net.named_parameters(), kSgd);
  DataParallel dp(net, how);
  for (int step = 0; step < kSteps; ++step)
    dp.step(images(step), kLoss, &optimizer);
  return values_of(net);
}

TEST(ResNetExactnessTest, TwentyStepsInF64EqualOneDevice) {
  nn::models::ResNet net = make_net({.stem = nn::models::ResNetStem::cifar});
  const Values alone = train_alone(nn::clone(net));
  EXPECT_GT(difference(values_of(net), alone), 1e-3) << "it trains";
  for (const int n : {2, 3})
    EXPECT_LE(difference(train_parallel(nn::clone(net), {.devices = devices(n)}), alone), 1e-12)
        << n;
  EXPECT_LE(
      difference(train_parallel(nn::clone(net), {.devices = devices(3), .gpu0_bsz = 1}), alone),
      1e-12);
}

// The second run of a block adds up its batch norms' statistics over the replicas once more.
TEST(ResNetExactnessTest, RecomputationChangesNoBit) {
  const nn::models::ResNetOptions whole{.stem = nn::models::ResNetStem::cifar};
  nn::models::ResNetOptions parts = whole;
  parts.recompute = true;
  const Values plain = train_alone(make_net(whole));
  EXPECT_EQ(train_alone(make_net(parts)), plain);
  EXPECT_LE(difference(train_parallel(make_net(parts), {.devices = devices(3)}), plain), 1e-12);
}

}  // namespace
}  // namespace tandem::parallel::test
