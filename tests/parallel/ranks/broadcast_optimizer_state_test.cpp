// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Rank 0 alone has trained; all others go on from its optimizer's state.
#include "tandem/parallel/broadcast_optimizer_state.hpp"

#include <limits>
#include <map>
#include <mutex>

#include <gmock/gmock.h>

#include "tandem/nn/replicate.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/optim/sgd.hpp"
#include "tandem/parallel/run_ranks.hpp"

#include "parallel/nets.hpp"
#include "thrown_text.hpp"
#include "world_of_tests.hpp"

namespace tandem::parallel::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::thrown_text;

constexpr int kRanks = 3;

template <class Optimizer>
void step(Mlp& net, Optimizer& optimizer, std::uint64_t seed) {
  const Batch batch = make_batch(6, seed, DType::f64, false);
  optimizer.zero_grad();
  const Device device = net.parameters().front().device();
  cross_entropy(net(batch.x.to(device)), batch.labels.to(device)).backward();
  optimizer.step();
}

/// One optimizer that made all steps.
Values uninterrupted(const Mlp& begin) {
  Mlp net = nn::clone(begin);
  optim::AdamW optimizer(net.named_parameters(), {.lr = 0.01});
  for (std::uint64_t s = 0; s < 5; ++s) {
    if (s == 2) optimizer.param_groups()[0].set("lr", 0.003);
    step(net, optimizer, s);
  }
  return values_of(net);
}

TEST(BroadcastOptimizerStateTest, AllGoOnAsTheRootWould) {
  const Mlp begin;
  const Values expected = uninterrupted(begin);
  std::mutex mutex;
  std::map<int, Values> values;
  run_ranks(testing::devices(kRanks),
            [&](Rank& rank) {
              const int root = rank.size() - 1;
              Mlp net = nn::clone(begin);
              net.to(rank.device());
              optim::AdamW optimizer(net.named_parameters(), {.lr = 0.01});
              for (std::uint64_t s = 0; rank.rank() == root && s < 2; ++s)
                step(net, optimizer, s);
              if (rank.rank() == root) optimizer.param_groups()[0].set("lr", 0.003);
              for (const Tensor& p : net.parameters())
                rank.comm().broadcast(p.detach(), root);
              broadcast_optimizer_state(optimizer, rank, root);
              for (std::uint64_t s = 2; s < 5; ++s)
                step(net, optimizer, s);
              const std::scoped_lock lock(mutex);
              values[rank.rank()] = values_of(net);
            },
            {.timeout = std::chrono::seconds(20), .world = testing::test_world()});
  ASSERT_FALSE(values.empty());
  for (const auto& [rank, own] : values)
    EXPECT_LE(difference(own, expected), 1e-12) << rank;
}

TEST(BroadcastOptimizerStateTest, AStateThatHasNothingYetIsOneToo) {
  run_ranks(testing::devices(kRanks),
            [&](Rank& rank) {
              Mlp net;
              net.to(rank.device());
              optim::SGD optimizer(net.named_parameters(), {.lr = rank.rank() + 1.0});
              if (rank.rank() == 1) step(net, optimizer, 1);
              broadcast_optimizer_state(optimizer, rank);
              EXPECT_EQ(optimizer.param_groups()[0].lr(), 1);
              EXPECT_TRUE(optimizer.state_dict().tensors.empty());
            },
            {.timeout = std::chrono::seconds(20), .world = testing::test_world()});
}

TEST(BroadcastOptimizerStateTest, OtherParametersAndNoRankAreRefused) {
  run_ranks(testing::devices(2),
            [&](Rank& rank) {
              Mlp net;
              net.to(rank.device());
              optim::SGD optimizer(net.named_parameters(), {.lr = 1, .momentum = 0.9});
              EXPECT_THAT(thrown_text([&] { broadcast_optimizer_state(optimizer, rank, -1); }),
                          HasSubstr("root is -1, but there are " + std::to_string(rank.size())));
              nn::Linear other(2, 3, {.dtype = DType::f64, .device = rank.device()});
              optim::SGD others(other.named_parameters(), {.lr = 2});
              if (rank.is_main()) {
                step(net, optimizer, 1);
                broadcast_optimizer_state(optimizer, rank);
              } else {
                EXPECT_THAT(thrown_text([&] { broadcast_optimizer_state(others, rank); }),
                            HasSubstr("momentum"));
                EXPECT_EQ(others.param_groups()[0].lr(), 2);
              }
            },
            {.timeout = std::chrono::seconds(20), .world = testing::test_world()});
}

}  // namespace
}  // namespace tandem::parallel::test
