// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/nn/replicate.hpp"
#include "tandem/ops/activation.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/ops/unary.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/optim/clip.hpp"
#include "tandem/optim/lamb.hpp"
#include "tandem/optim/sgd.hpp"

#include "devices.hpp"
#include "parallel/nets.hpp"

// What the modes have in common, and what only sharded has: shares of the gradients, the update and
// the optimizer's state on each device.
namespace tandem::parallel::test {
namespace {

DataParallelOptions options_of(Mode mode, int n = kDevices) {
  // Small buckets: several, so that the shares of a parameter lie apart.
  return {.devices = devices(n),
          .mode = mode,
          .chunks = ChunkPolicy::weights(std::vector<double>(static_cast<std::size_t>(n), 1.0)),
          .exchange = {.first_bucket_nbytes = 256, .bucket_nbytes = 1024}};
}

Batch batch_of(int step) {
  return make_batch(11, 40 + static_cast<std::uint64_t>(step), DType::f64, step % 2 == 1);
}

/// The loop of PyTorch's nn.DataParallel: the loss on the gathered output.
template <class Net>
void gathered_step(DataParallel<Net>& dp, optim::Optimizer& optimizer, const Batch& batch) {
  optimizer.zero_grad();
  cross_entropy(dp(batch.x), batch.labels).backward();
  optimizer.step();
}

class Modes : public ::testing::TestWithParam<Mode> {
 protected:
  Modes() { manual_seed(3); }
};

TEST_P(Modes, BothLoopsGiveOneDevicesWeights) {
  Cnn alone, gathered = nn::clone(alone), in_replica = nn::clone(alone);
  optim::AdamW a(alone.named_parameters()), b(gathered.named_parameters()),
      c(in_replica.named_parameters());
  DataParallel first(gathered, options_of(GetParam())), second(in_replica, options_of(GetParam()));
  for (int step = 0; step < 5; ++step) {
    a.zero_grad();
    cross_entropy(alone(batch_of(step).x), batch_of(step).labels).backward();
    a.step();
    gathered_step(first, b, batch_of(step));
    second.step(batch_of(step), kLoss, &c);
  }
  EXPECT_LE(difference(values_of(gathered), values_of(alone)), 1e-12);
  EXPECT_LE(difference(values_of(in_replica), values_of(alone)), 1e-12);
}

TEST_P(Modes, GradientsAreReadAndChangedLikeOneDevices) {
  Mlp alone, net = nn::clone(alone);
  optim::SGD a(alone.named_parameters(), {.lr = 0.1, .momentum = 0.9});
  optim::SGD b(net.named_parameters(), {.lr = 0.1, .momentum = 0.9});
  DataParallel dp(net, options_of(GetParam()));
  for (int step = 0; step < 3; ++step) {
    a.zero_grad();
    b.zero_grad();
    for (int part = 0; part < 2; ++part) {  // two backwards add up
      cross_entropy(alone(batch_of(step + part).x), batch_of(step + part).labels).backward();
      cross_entropy(dp(batch_of(step + part).x), batch_of(step + part).labels).backward();
    }
    EXPECT_LE(difference(gradients_of(net), gradients_of(alone)), 1e-13);
    const double norm = optim::clip_grad_norm_(alone.parameters(), 0.1).item();
    EXPECT_NEAR(optim::clip_grad_norm_(net.parameters(), 0.1).item(), norm, 1e-13);
    a.step();
    b.step();
    EXPECT_LE(difference(values_of(net), values_of(alone)), 1e-13);
  }
}

TEST_P(Modes, APenaltyBesideTheReplicasCounts) {
  Mlp alone, net = nn::clone(alone);
  optim::SGD a(alone.named_parameters(), {.lr = 0.1}), b(net.named_parameters(), {.lr = 0.1});
  DataParallel dp(net, options_of(GetParam()));
  const auto penalty = [](Mlp& m) { return 0.1 * sum(square(m.hidden.weight)); };
  for (int step = 0; step < 2; ++step) {
    a.zero_grad();
    b.zero_grad();
    (cross_entropy(alone(batch_of(step).x), batch_of(step).labels) + penalty(alone)).backward();
    (cross_entropy(dp(batch_of(step).x), batch_of(step).labels) + penalty(net)).backward();
    penalty(alone).backward();  // and once more, without the replicas
    penalty(net).backward();
    a.step();
    b.step();
  }
  EXPECT_LE(difference(values_of(net), values_of(alone)), 1e-13);
}

TEST_P(Modes, WhatTheUserWritesIntoAParameterStays) {
  Mlp alone, net = nn::clone(alone);
  optim::SGD a(alone.named_parameters(), {.lr = 0.1}), b(net.named_parameters(), {.lr = 0.1});
  DataParallel dp(net, options_of(GetParam()));
  const auto change = [](Mlp& m) {
    const autograd::NoGrad off;
    m.hidden.weight.mul_(0.5);
  };
  for (int step = 0; step < 3; ++step) {
    a.zero_grad();
    b.zero_grad();
    change(alone);
    change(net);
    cross_entropy(alone(batch_of(step).x), batch_of(step).labels).backward();
    cross_entropy(dp(batch_of(step).x), batch_of(step).labels).backward();
    change(alone);  // between backward and update
    change(net);
    a.step();
    b.step();
  }
  EXPECT_LE(difference(values_of(net), values_of(alone)), 1e-13);
}

TEST_P(Modes, AnOptimizerOfWholeTensorsUpdatesRight) {
  Mlp alone, net = nn::clone(alone);
  optim::LAMB a(alone.named_parameters(), {.lr = 0.01}), b(net.named_parameters(), {.lr = 0.01});
  DataParallel dp(net, options_of(GetParam()));
  for (int step = 0; step < 4; ++step) {
    a.zero_grad();
    cross_entropy(alone(batch_of(step).x), batch_of(step).labels).backward();
    a.step();
    if (step % 2 == 0)
      dp.step(batch_of(step), kLoss, &b);
    else
      gathered_step(dp, b, batch_of(step));
  }
  EXPECT_LE(difference(values_of(net), values_of(alone)), 1e-13);
}

TEST_P(Modes, StateGoesFromOneModeToAnother) {
  Mlp alone, net = nn::clone(alone);
  optim::AdamW a(alone.named_parameters());
  auto b = std::make_unique<optim::AdamW>(net.named_parameters());
  const auto step_both = [&](DataParallel<Mlp>& dp, int step) {
    a.zero_grad();
    cross_entropy(alone(batch_of(step).x), batch_of(step).labels).backward();
    a.step();
    dp.step(batch_of(step), kLoss, b.get());
  };
  int step = 0;
  for (const Mode mode : {GetParam(), Mode::server, GetParam()}) {
    DataParallel dp(net, options_of(mode));
    step_both(dp, step++);
    step_both(dp, step++);
  }
  EXPECT_LE(difference(values_of(net), values_of(alone)), 1e-13);
  // The wrapper is gone: gradient, values and state are the module's again.
  EXPECT_LE(difference(gradients_of(net), gradients_of(alone)), 1e-13);
  a.step();
  b->step();
  EXPECT_LE(difference(values_of(net), values_of(alone)), 1e-13);
  // A saved state fits any other mode.
  const optim::OptimizerState saved = b->state_dict();
  b = std::make_unique<optim::AdamW>(net.named_parameters());
  DataParallel dp(net, options_of(GetParam(), 2));
  b->load_state_dict(saved);
  step_both(dp, step++);
  EXPECT_LE(difference(values_of(net), values_of(alone)), 1e-13);
  const optim::OptimizerState theirs = a.state_dict(), ours = b->state_dict();
  ASSERT_EQ(ours.tensors.size(), theirs.tensors.size());
  for (const auto& [name, x] : theirs.tensors)
    EXPECT_LE(nn::difference({{name, ours.tensors.at(name).to_doubles()}}, {{name, x.to_doubles()}})
                  .value,
              1e-12)
        << name;
}

TEST_P(Modes, NothingIsReducedUnderNoSyncAndAllAfterIt) {
  for (const std::int64_t few : {11, 1}) {  // one row: the other devices have but what was left
    Mlp alone, net = nn::clone(alone);
    DataParallel dp(net, options_of(GetParam()));
    const auto both = [&](std::int64_t rows, std::uint64_t seed) {
      const Batch batch = make_batch(rows, seed, DType::f64, false);
      cross_entropy(alone(batch.x), batch.labels).backward();
      cross_entropy(dp(batch.x), batch.labels).backward();
    };
    {
      const auto scope = dp.no_sync();
      both(11, 1);
      both(7, 2);
      optim::SGD sgd(net.named_parameters(), {});
      EXPECT_THAT([&] { dp.step(batch_of(0), kLoss, &sgd); },
                  ::testing::ThrowsMessage<InvalidArgument>(
                      ::testing::HasSubstr("leave the scope of no_sync first")));
    }
    const Values own = values_of(dp.replica(1));
    both(few, 3);
    EXPECT_LE(difference(gradients_of(net), gradients_of(alone)), 1e-13) << few << " rows";
    EXPECT_EQ(values_of(dp.replica(1)), own);
  }
}

TEST_P(Modes, GradientsUnderNoSyncAreReducedForWhoeverNeedsThem) {
  for (const bool by_optimizer : {false, true}) {
    Mlp alone, net = nn::clone(alone);
    optim::SGD a(alone.named_parameters(), {.lr = 0.1}), b(net.named_parameters(), {.lr = 0.1});
    DataParallel dp(net, options_of(GetParam()));
    {
      const auto scope = dp.no_sync();
      cross_entropy(alone(batch_of(0).x), batch_of(0).labels).backward();
      dp.step(batch_of(0), kLoss);
    }
    if (!by_optimizer) {
      EXPECT_LE(difference(gradients_of(net), gradients_of(alone)), 1e-13);
    }
    a.step();
    b.step();
    EXPECT_LE(difference(values_of(net), values_of(alone)), 1e-13);
    dp.sync();
    EXPECT_EQ(values_of(dp.replica(2)), values_of(net));
  }
}

TEST_P(Modes, AFailureUnderNoSyncKeepsWhatTheReplicasHave) {
  Mlp alone, net = nn::clone(alone);
  DataParallel dp(net, options_of(GetParam()));
  {
    const auto scope = dp.no_sync();
    cross_entropy(alone(batch_of(0).x), batch_of(0).labels).backward();
    dp.step(batch_of(0), kLoss);
    EXPECT_THROW(dp.step(batch_of(1),
                         [](Mlp& m, const Batch& b) {
                           const Tensor y = m(b.x);
                           if (context().replica == 1) {
                             autograd::register_hook(m.hidden.bias, [](const Tensor&) -> Tensor {
                               throw std::runtime_error("hook");
                             });
                           }
                           return cross_entropy_sum(y, b.labels);
                         }),
                 Error);
  }
  EXPECT_LE(difference(gradients_of(net), gradients_of(alone)), 1e-13);
}

TEST_P(Modes, FrozenAndUnusedParametersStay) {
  Mlp net;
  net.hidden.weight.requires_grad_(false);
  const Values before = values_of(net);
  optim::AdamW optimizer(net.named_parameters());
  DataParallel dp(net, options_of(GetParam()));
  dp.step(
      batch_of(0),
      [](Mlp& m, const Batch& b) {
        return cross_entropy_sum(
            m.head(tanh(b.x.flatten(1).matmul(m.hidden.weight.transpose(0, 1)))), b.labels);
      },
      &optimizer);
  const Values after = values_of(net);
  EXPECT_EQ(after.at("hidden.weight"), before.at("hidden.weight"));
  EXPECT_EQ(after.at("hidden.bias"), before.at("hidden.bias"));
  EXPECT_FALSE(net.hidden.bias.grad().defined());
  EXPECT_NE(after.at("head.weight"), before.at("head.weight"));
}

INSTANTIATE_TEST_SUITE_P(All, Modes, ::testing::ValuesIn(kModes), [](const auto& instance) {
  return std::string(name(instance.param));
});

TEST(ModesTest, AllModesGiveTheSameBits) {
  std::vector<Values> values;
  for (const Mode mode : kModes) {
    manual_seed(3);
    Cnn net(DType::f32);
    optim::AdamW optimizer(net.named_parameters());
    DataParallel dp(net, options_of(mode));
    for (int step = 0; step < 4; ++step)
      dp.step(make_batch(11, 7, DType::f32, false), kLoss, &optimizer);
    values.push_back(values_of(net));
  }
  for (std::size_t m = 1; m < values.size(); ++m)
    EXPECT_EQ(values[m], values[0]) << name(kModes[m]);
}

/// Bytes of a category that are in use on each device after some steps.
std::vector<std::size_t> state_bytes(Mode mode) {
  Mlp net;
  optim::AdamW optimizer(net.named_parameters());
  DataParallel dp(net, options_of(mode));
  const auto in_use = [](int d) {
    return logical_device(testing::device(d))
        .memory_stats()
        .by_category[static_cast<std::size_t>(Category::optimizer)];
  };
  std::vector<std::size_t> bytes;
  for (int d = 0; d < kDevices; ++d)
    bytes.push_back(in_use(d));
  dp.step(batch_of(0), kLoss, &optimizer);
  for (int d = 0; d < kDevices; ++d)
    bytes[static_cast<std::size_t>(d)] = in_use(d) - bytes[static_cast<std::size_t>(d)];
  return bytes;
}

TEST(ModesTest, EachDeviceHasItsShareOfTheOptimizersState) {
  const std::size_t all = state_bytes(Mode::server)[0];
  const std::vector<std::size_t> shares = state_bytes(Mode::sharded);
  std::size_t sum = 0;
  for (const std::size_t share : shares) {
    EXPECT_NEAR(static_cast<double>(share),
                static_cast<double>(all) / kDevices,
                0.1 * static_cast<double>(all));
    sum += share;
  }
  EXPECT_GE(sum, all);
}

TEST(ModesTest, InDdpEachDeviceHasACopyOfTheOptimizersState) {
  const std::size_t all = state_bytes(Mode::server)[0];
  EXPECT_THAT(state_bytes(Mode::ddp), ::testing::Each(all));
}

}  // namespace
}  // namespace tandem::parallel::test
