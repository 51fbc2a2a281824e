// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// DistributedDataParallel over the processes of a launcher, against ranks on threads and against
// one device.
#include "tandem/parallel/distributed_data_parallel.hpp"

#include <algorithm>
#include <functional>
#include <mutex>

#include <gtest/gtest.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/nn/replicate.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/parallel/run_ranks.hpp"

#include "parallel/nets.hpp"
#include "world_of_tests.hpp"

namespace tandem::parallel::test {
namespace {

using tandem::testing::test_world;

constexpr std::int64_t kRowsOfRank = 3;
constexpr int kStepsOfEpoch = 4;

/// The rows of a rank, on its device, in a batch that has as many for each.
Batch rows_of(const Batch& batch, const Rank& rank) {
  const auto part = [&](const Tensor& x) {
    return x.narrow(0, rank.rank() * kRowsOfRank, kRowsOfRank).to(rank.device());
  };
  return {part(batch.x), part(batch.labels)};
}

Batch batch_of(int ranks, int step) {
  return make_batch(kRowsOfRank * ranks, 100 + static_cast<std::uint64_t>(step), DType::f64, false);
}

/// What a rank's DistributedDataParallel is told before it trains; null: nothing.
using Prepare = std::function<void(DistributedDataParallel<Mlp>& ddp, Rank& rank)>;

/// Trains on ranks for three epochs. @return the weights of the first rank of this process
Values train(const Mlp& net,
             std::span<const Device> devices,
             world::World* world,
             const Prepare& prepare = {}) {
  Values values;
  std::mutex mutex;
  run_ranks(devices,
            [&](Rank& rank) {
              Mlp own = nn::clone(net);
              own.to(rank.device());
              DistributedDataParallel ddp(own, rank);
              if (prepare) prepare(ddp, rank);
              optim::AdamW optimizer(own.named_parameters(), {.lr = 0.01});
              for (int step = 0; step < 3 * kStepsOfEpoch; ++step) {
                const Batch batch = rows_of(batch_of(rank.size(), step), rank);
                optimizer.zero_grad();
                cross_entropy(ddp(batch.x), batch.labels).backward();
                optimizer.step();
              }
              const std::scoped_lock lock(mutex);
              if (rank.device() == devices.front()) values = values_of(own);
            },
            {.timeout = std::chrono::seconds(20), .world = world});
  return values;
}

Values on_one_device(const Mlp& net, int ranks) {
  Mlp own = nn::clone(net);
  optim::AdamW optimizer(own.named_parameters(), {.lr = 0.01});
  for (int step = 0; step < 3 * kStepsOfEpoch; ++step) {
    const Batch batch = batch_of(ranks, step);
    optimizer.zero_grad();
    cross_entropy(own(batch.x), batch.labels).backward();
    optimizer.step();
  }
  return values_of(own);
}

/// Adds up the gradients of each group of ranks first, and then the groups' sums, on threads.
Prepare grouped(int size_of_group) {
  return [size_of_group](DistributedDataParallel<Mlp>& ddp, Rank& rank) {
    const std::shared_ptr<comm::Communicator> group =
        rank.comm().split(rank.rank() / size_of_group);
    const std::shared_ptr<comm::Communicator> across =
        rank.comm().split(rank.rank() % size_of_group);
    ddp.register_comm_hook([group, across](comm::Communicator& comm, const GradBucket& bucket) {
      const autograd::NoGrad off;
      for (Tensor x : bucket.gradients) {
        x.mul_(1.0 / comm.size());
        group->all_reduce(x);
        across->all_reduce(x);
      }
      return comm::Handle();
    });
  };
}

class RanksTest : public ::testing::TestWithParam<int> {};

TEST_P(RanksTest, OfProcessesAreRanksOnThreadsBitForBit) {
  const int processes = test_world()->size(), own = GetParam();
  manual_seed(5);
  const Mlp net;
  const Values together = train(net, devices(own), test_world());
  EXPECT_EQ(difference(together, train(net, devices(processes * own), nullptr, grouped(own))), 0);
  if (own == 1) {
    EXPECT_EQ(difference(together, train(net, devices(processes), nullptr)), 0);
  }
}

TEST_P(RanksTest, TrainAsOneDevice) {
  manual_seed(5);
  const Mlp net;
  const int own = GetParam();
  EXPECT_LE(difference(train(net, devices(own), test_world()),
                       on_one_device(net, own * test_world()->size())),
            1e-12);
}

INSTANTIATE_TEST_SUITE_P(InEach, RanksTest, ::testing::Values(1, 2));

}  // namespace
}  // namespace tandem::parallel::test
