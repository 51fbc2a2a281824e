// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Programs of one rank each, of which each has a share of the parameters, held against one device
// that has all of them and the whole batch.
#include <algorithm>
#include <functional>
#include <limits>
#include <ostream>

#include <gmock/gmock.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/optim/clip.hpp"
#include "tandem/optim/grad_scaler.hpp"
#include "tandem/optim/sgd.hpp"

#include "parallel/sharded_ranks.hpp"

namespace tandem::parallel::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using enum ShardingStrategy;

struct Strategy {
  ShardingStrategy strategy;
  int ranks;
  int replicas = 1;
  bool offloads = false;
};

void PrintTo(const Strategy& c, std::ostream* s) {
  *s << "strategy " << static_cast<int>(c.strategy) << ", " << c.ranks << " ranks, " << c.replicas
     << " copies" << (c.offloads ? ", offloaded" : "");
}

FullyShardedDataParallelOptions options_of(const Strategy& c, Rank& rank) {
  FullyShardedDataParallelOptions options{.strategy = c.strategy};
  if (c.offloads) options.sharding.offload = Device{testing::device_type(), 7};
  if (c.strategy == hybrid_shard)
    options.mesh.emplace(
        rank.comm(),
        std::vector<comm::MeshAxis>{{"replicate", c.replicas}, {"shard", c.ranks / c.replicas}});
  return options;
}

/// The values of parameters by a program that trains a net.
template <class Net>
using Program = std::function<void(Net& net,
                                   const std::function<Tensor(const Tensor&)>& forward,
                                   const std::function<Batch(const Batch&)>& part)>;

class FsdpTest : public ::testing::TestWithParam<Strategy> {
 protected:
  /// Runs a program on ranks and on one device, and compares the values that they end with.
  template <class Net>
  void expect_values_of_one_device(Net& alone, const Program<Net>& program) {
    const Strategy c = GetParam();
    Results results;
    with_nets(c.ranks, alone, [&](Net& net, Rank& rank) {
      FullyShardedDataParallel fsdp(net, rank, options_of(c, rank));
      program(
          net,
          [&](const Tensor& x) { return fsdp(x); },
          [&](const Batch& batch) { return rows_of(batch, rank); });
      results.put(rank, unsharded_values(fsdp));
    });
    program(
        alone, [&](const Tensor& x) { return alone(x); }, [](const Batch& b) { return b; });
    ASSERT_EQ(results.by_rank().size(), static_cast<std::size_t>(c.ranks));
    for (const auto& [rank, values] : results.by_rank()) {
      EXPECT_LE(difference(values, values_of(alone)), 1e-12) << "rank " << rank;
      EXPECT_EQ(values, results.by_rank().at(0)) << "rank " << rank << ": other bits than rank 0";
    }
  }
};

TEST_P(FsdpTest, TrainsAsOneDevice) {
  manual_seed(3);
  NormMlp alone;
  expect_values_of_one_device<NormMlp>(alone,
                                       [](NormMlp& net, const auto& forward, const auto& part) {
                                         optim::AdamW optimizer(net.named_parameters());
                                         for (int step = 0; step < 5; ++step) {
                                           const Batch rows = part(batch_of_step(step));
                                           optimizer.zero_grad();
                                           cross_entropy(forward(rows.x), rows.labels).backward();
                                           optim::clip_grad_norm_(net.parameters(), 0.5);
                                           optimizer.step();
                                         }
                                       });
}

TEST_P(FsdpTest, ClipsByEachNorm) {
  manual_seed(3);
  for (const double norm : {1.0, 2.0, std::numeric_limits<double>::infinity()}) {
    Mlp alone;
    expect_values_of_one_device<Mlp>(
        alone, [norm](Mlp& net, const auto& forward, const auto& part) {
          optim::SGD optimizer(net.named_parameters(), {.lr = 0.3});
          const Batch rows = part(batch_of_step(0));
          cross_entropy(forward(rows.x), rows.labels).backward();
          const double found =
              optim::clip_grad_norm_(net.parameters(), 0.01, {.norm_type = norm}).item();
          EXPECT_GT(found, 0.01);
          optimizer.step();
        });
  }
}

TEST_P(FsdpTest, GradientsOfSeveralBackwardsAddUp) {
  manual_seed(3);
  Mlp alone;
  expect_values_of_one_device<Mlp>(alone, [](Mlp& net, const auto& forward, const auto& part) {
    optim::SGD optimizer(net.named_parameters(), {.lr = 0.3});
    for (int step = 0; step < 3; ++step) {
      const Batch rows = part(batch_of_step(step));
      cross_entropy(forward(rows.x), rows.labels).backward();
      if (step != 1) optimizer.step();  // without zero_grad
    }
  });
}

TEST_P(FsdpTest, HasTheStateOfOneDevice) {
  manual_seed(3);
  Mlp alone;
  const Strategy c = GetParam();
  Results results;
  const auto train = [](auto& net, const auto& forward, const Batch& rows) {
    optim::Adam optimizer(net.named_parameters());
    cross_entropy(forward(rows.x), rows.labels).backward();
    optimizer.step();
    const optim::OptimizerState state = optimizer.state_dict();
    Values values;
    for (const auto& [name, x] : state.tensors)
      values[name] = x.to_doubles();
    for (const auto& [name, number] : state.numbers)
      values[name] = {number};
    optimizer.load_state_dict(state);
    optimizer.step();
    return values;
  };
  with_nets(c.ranks, alone, [&](Mlp& net, Rank& rank) {
    FullyShardedDataParallel fsdp(net, rank, options_of(c, rank));
    const Batch rows = rows_of(batch_of_step(0), rank);
    Values values = train(
        net, [&](const Tensor& x) { return fsdp(x); }, rows);
    values.merge(unsharded_values(fsdp));
    results.put(rank, values);
  });
  Values expected = train(
      alone, [&](const Tensor& x) { return alone(x); }, batch_of_step(0));
  expected.merge(values_of(alone));
  for (const auto& [rank, values] : results.by_rank())
    EXPECT_LE(difference(values, expected), 1e-12) << "rank " << rank;
}

TEST_P(FsdpTest, AnInfinityOnOneRankIsSkippedByAll) {
  manual_seed(3);
  Mlp alone;
  const Values before = values_of(alone);
  const Strategy c = GetParam();
  with_nets(c.ranks, alone, [&](Mlp& net, Rank& rank) {
    FullyShardedDataParallel fsdp(net, rank, options_of(c, rank));
    optim::SGD optimizer(net.named_parameters(), {.lr = 0.3});
    optim::GradScaler scaler({.init_scale = 4});
    const Batch rows = rows_of(batch_of_step(0), rank);
    Tensor loss = scaler.scale(cross_entropy(fsdp(rows.x), rows.labels));
    if (rank.rank() == c.ranks - 1) loss = loss * std::numeric_limits<double>::infinity();
    loss.backward();
    EXPECT_FALSE(scaler.step(optimizer));
    scaler.update();
    EXPECT_EQ(scaler.get_scale(), 2);
    EXPECT_EQ(unsharded_values(fsdp), before);
  });
}

INSTANTIATE_TEST_SUITE_P(Strategies,
                         FsdpTest,
                         ::testing::Values(Strategy{full_shard, 1},
                                           Strategy{full_shard, 2},
                                           Strategy{full_shard, 3},
                                           Strategy{full_shard, 4},
                                           Strategy{shard_grad_op, 2},
                                           Strategy{shard_grad_op, 3},
                                           Strategy{no_shard, 2},
                                           Strategy{hybrid_shard, 4, 2},
                                           Strategy{hybrid_shard, 6, 2},
                                           Strategy{hybrid_shard, 6, 3},
                                           Strategy{full_shard, 2, 1, true},
                                           Strategy{shard_grad_op, 3, 1, true},
                                           Strategy{hybrid_shard, 6, 2, true}));

}  // namespace
}  // namespace tandem::parallel::test
