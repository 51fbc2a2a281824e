// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Shares that have whole parameters, for optimizers that need them, held against one device.
#include <memory>

#include <gmock/gmock.h>

#include "tandem/optim/clip.hpp"
#include "tandem/optim/lamb.hpp"
#include "tandem/optim/sgd.hpp"
#include "tandem/parallel/mode_formulas.hpp"

#include "parallel/sharded_ranks.hpp"

namespace tandem::parallel::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using enum ShardingStrategy;

constexpr int kStepsOfLamb = 4;

constexpr optim::LAMBOptions kLamb{.lr = 0.02, .weight_decay = 0.1};

Values numbers_of(const optim::OptimizerState& state) {
  Values values;
  for (const auto& [name, x] : state.tensors)
    values[name] = x.to_doubles();
  for (const auto& [name, number] : state.numbers)
    values[name] = {number};
  return values;
}

/// A net by plain steps on one device. @return its state
Values train_alone(NormMlp& net) {
  optim::LAMB optimizer(net.named_parameters(), kLamb);
  for (int step = 0; step < kStepsOfLamb; ++step) {
    const Batch batch = batch_of_step(step);
    optimizer.zero_grad();
    cross_entropy(net(batch.x), batch.labels).backward();
    optim::clip_grad_norm_(net.parameters(), 0.5);
    optimizer.step();
  }
  return numbers_of(optimizer.state_dict());
}

struct Ranks {
  int ranks;
  ShardingStrategy strategy = full_shard;
  bool offloads = false;
};

class WholeTensorsOfRanks : public ::testing::TestWithParam<Ranks> {};

TEST_P(WholeTensorsOfRanks, LambTrainsAsOneDevice) {
  const Ranks c = GetParam();
  manual_seed(3);
  NormMlp alone;
  Results results;
  const NormMlp before = nn::clone(alone);
  const Values state = train_alone(alone);
  with_nets(c.ranks, before, [&](NormMlp& net, Rank& rank) {
    FullyShardedDataParallelOptions options{.sharding = {.whole_tensors = true},
                                            .strategy = c.strategy};
    if (c.offloads) options.sharding.offload = testing::device(7);
    if (c.strategy == hybrid_shard)
      options.mesh.emplace(rank.comm(),
                           std::vector<comm::MeshAxis>{{"replicate", 2}, {"shard", c.ranks / 2}});
    FullyShardedDataParallel fsdp(net, rank, options);
    optim::LAMB optimizer(net.named_parameters(), kLamb);
    for (int step = 0; step < kStepsOfLamb; ++step) {
      const Batch rows = rows_of(batch_of_step(step), rank);
      optimizer.zero_grad();
      cross_entropy(fsdp(rows.x), rows.labels).backward();
      optim::clip_grad_norm_(net.parameters(), 0.5);
      optimizer.step();
    }
    EXPECT_LE(difference(numbers_of(optimizer.state_dict()), state), 1e-12);
    results.put(rank, unsharded_values(fsdp));
  });
  ASSERT_EQ(results.by_rank().size(), static_cast<std::size_t>(c.ranks));
  for (const auto& [rank, values] : results.by_rank())
    EXPECT_LE(difference(values, values_of(alone)), 1e-12) << "rank " << rank;
}

INSTANTIATE_TEST_SUITE_P(All,
                         WholeTensorsOfRanks,
                         ::testing::Values(Ranks{1},
                                           Ranks{2},
                                           Ranks{3},
                                           Ranks{7},  // more than a unit has parameters
                                           Ranks{2, shard_grad_op},
                                           Ranks{4, hybrid_shard},
                                           Ranks{3, full_shard, true}));

class WholeTensorsOfMode : public ::testing::TestWithParam<Mode> {};

TEST_P(WholeTensorsOfMode, LambUpdatesOnAllDevices) {
  manual_seed(3);
  NormMlp alone, net = nn::clone(alone);
  const Values state = train_alone(alone);
  const auto before = held(testing::device(0));
  optim::LAMB optimizer(net.named_parameters(), kLamb);
  DataParallel dp(net,
                  {.devices = devices(kDevices),
                   .mode = GetParam(),
                   .gpu0_bsz = 2,
                   .sharding = {.whole_tensors = true}});
  for (int step = 0; step < kStepsOfLamb; ++step) {
    const Batch batch = batch_of_step(step);
    optimizer.zero_grad();
    if (step == 1)  // a forward and a backward of their own
      cross_entropy(dp(batch.x), batch.labels).backward();
    else
      dp.step(batch, kLoss);
    optim::clip_grad_norm_(net.parameters(), 0.5);
    optimizer.step();
  }
  EXPECT_LE(difference(values_of(net), values_of(alone)), 1e-12);
  // Of each unit, device 0 has the weight and device 1 the bias, in f64.
  EXPECT_EQ(held(testing::device(0))[2] - before[2], 2 * (192 + 64 + 128) * sizeof(double));
  EXPECT_EQ(held(testing::device(1))[2], 2 * (64 + 128) * sizeof(double));
  EXPECT_EQ(held(testing::device(2))[2], 0U);
  EXPECT_LE(difference(numbers_of(optimizer.state_dict()), state), 1e-12);
}

TEST_P(WholeTensorsOfMode, TheFormulasCountThePadding) {
  manual_seed(3);
  Mlp net(DType::f32);
  const auto before = held(testing::device(2));
  const DataParallelOptions options{
      .devices = devices(kDevices), .mode = GetParam(), .sharding = {.whole_tensors = true}};
  const ModeFormulas formulas(
      net,
      {.mode = GetParam(), .devices = kDevices, .sharding = {.whole_tensors = true}, .states = 2});
  DataParallel dp(net, options);
  optim::LAMB optimizer(net.named_parameters(), kLamb);
  dp.step(make_batch(9, 1, DType::f32, false), kLoss, &optimizer);
  using Figure = ModeFormulas::Figure;
  const auto now = held(testing::device(2));
  EXPECT_EQ(now[0] - before[0], formulas.nbytes(Figure::parameters, 2));
  EXPECT_EQ(now[1] - before[1], formulas.nbytes(Figure::gradients, 2));
  // A unit has a weight and a bias: device 2 has neither, and its share is padding.
  EXPECT_EQ(formulas.nbytes(Figure::gradients, 2), (192 + 128) * sizeof(float));
  EXPECT_EQ(now[2] - before[2], 0U);
}

INSTANTIATE_TEST_SUITE_P(All,
                         WholeTensorsOfMode,
                         ::testing::Values(Mode::sharded_gradients, Mode::fully_sharded));

TEST(WholeTensors, AreRefusedWhereThereAreNoUnits) {
  Mlp net;
  EXPECT_THAT(
      [&] {
        DataParallel(
            net, {.devices = devices(2), .mode = Mode::ddp, .sharding = {.whole_tensors = true}});
      },
      ThrowsMessage<InvalidArgument>(AllOf(HasSubstr("whole_tensors is for modes "
                                                     "sharded_gradients and fully_sharded"),
                                           HasSubstr("this is ddp"))));
  Mlp alone;
  with_nets(2, alone, [](Mlp& copy, Rank& rank) {
    EXPECT_THAT(
        [&] {
          FullyShardedDataParallel(
              copy, rank, {.sharding = {.whole_tensors = true}, .strategy = no_shard});
        },
        ThrowsMessage<InvalidArgument>(HasSubstr("whole_tensors is for shares")));
  });
}

}  // namespace
}  // namespace tandem::parallel::test
