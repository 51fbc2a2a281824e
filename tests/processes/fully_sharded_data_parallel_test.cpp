// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// FullyShardedDataParallel over the processes of a launcher, against one device.
#include "tandem/parallel/fully_sharded_data_parallel.hpp"

#include <mutex>
#include <ostream>

#include <gmock/gmock.h>

#include "tandem/nn/replicate.hpp"
#include "tandem/ops/unary.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/optim/clip.hpp"
#include "tandem/parallel/run_ranks.hpp"
#include "tandem/world/world.hpp"

#include "parallel/nets.hpp"
#include "world_of_tests.hpp"

namespace tandem::parallel::test {
namespace {

using tandem::testing::test_world;
using ::testing::AllOf;
using ::testing::HasSubstr;
using enum ShardingStrategy;

/// A strategy, with so many devices in each process.
struct Sharded {
  ShardingStrategy strategy;
  int devices;
};

void PrintTo(const Sharded& s, std::ostream* out) {
  *out << "strategy " << static_cast<int>(s.strategy) << ", " << s.devices << " devices";
}

constexpr std::int64_t kRowsOfAll = 13;

/// Two layers of the same sizes, in either order.
struct TwoWays : nn::Module {
  nn::Linear first{12, 12, {.dtype = DType::f64}}, second{12, 12, {.dtype = DType::f64}};
  bool swapped = false;
  Tensor forward(const Tensor& x) {
    const Tensor rows = x.flatten(1);
    return swapped ? first(tanh(second(rows))) : second(tanh(first(rows)));
  }
  TANDEM_MODULE(TwoWays, first, second)
};

/// What a program leaves behind: the parameters, and the optimizer's state.
template <class Forward>
Values train(NormMlp& net,
             optim::AdamW& optimizer,
             const Forward& forward,
             std::int64_t begin,
             std::int64_t end) {
  for (int step = 0; step < 4; ++step) {
    const Batch batch =
        make_batch(kRowsOfAll, 7 + static_cast<std::uint64_t>(step), DType::f64, false);
    const Device device = net.hidden.weight.device();
    optimizer.zero_grad();
    cross_entropy(forward(batch.x.narrow(0, begin, end - begin).to(device)),
                  batch.labels.narrow(0, begin, end - begin).to(device))
        .backward();
    optim::clip_grad_norm_(net.parameters(), 0.5);
    optimizer.step();
  }
  Values state;
  for (const auto& [name, x] : optimizer.state_dict().tensors)
    state[name] = x.to_doubles();
  return state;
}

class FsdpProcessesTest : public ::testing::TestWithParam<Sharded> {};

TEST_P(FsdpProcessesTest, TrainAsOneDevice) {
  manual_seed(3);
  const NormMlp net;
  const Sharded s = GetParam();
  Values values;
  std::mutex mutex;
  run_ranks(devices(s.devices),
            [&](Rank& rank) {
              NormMlp own = nn::clone(net);
              own.to(rank.device());
              FullyShardedDataParallelOptions options{.strategy = s.strategy};
              if (s.strategy == hybrid_shard)  // no parameter goes from process to process
                options.mesh.emplace(
                    rank.comm(),
                    std::vector<comm::MeshAxis>{{"replicate", test_world()->size()},
                                                {"shard", s.devices}});
              FullyShardedDataParallel fsdp(own, rank, options);
              optim::AdamW optimizer(own.named_parameters(), {.lr = 0.01});
              Values found = train(
                  own,
                  optimizer,
                  [&](const Tensor& x) { return fsdp(x); },
                  rank.rank() * kRowsOfAll / rank.size(),
                  (rank.rank() + 1) * kRowsOfAll / rank.size());
              unsharded(fsdp, [&] { found.merge(values_of(own)); });
              const std::scoped_lock lock(mutex);
              if (rank.device().index == 0) values = found;
            },
            {.timeout = std::chrono::seconds(20), .world = test_world()});
  NormMlp alone = nn::clone(net);
  optim::AdamW optimizer(alone.named_parameters(), {.lr = 0.01});
  Values expected = train(
      alone, optimizer, [&](const Tensor& x) { return alone(x); }, 0, kRowsOfAll);
  expected.merge(values_of(alone));
  EXPECT_LE(difference(values, expected), 1e-12);
}

INSTANTIATE_TEST_SUITE_P(Strategies,
                         FsdpProcessesTest,
                         ::testing::Values(Sharded{full_shard, 1},
                                           Sharded{full_shard, 2},
                                           Sharded{shard_grad_op, 1},
                                           Sharded{no_shard, 1},
                                           Sharded{hybrid_shard, 2},
                                           Sharded{hybrid_shard, 3}));

TEST(FsdpOverProcesses, ARankThatGoesAnotherWayIsADesyncWithBothUnits) {
  const TwoWays net;
  std::string text;
  try {
    run_ranks(devices(1),
              [&](Rank& rank) {
                TwoWays own = nn::clone(net);
                own.swapped = rank.rank() == 1;
                FullyShardedDataParallel fsdp(own, rank);
                fsdp(randn({2, 12}, {.dtype = DType::f64}));
              },
              {.timeout = std::chrono::seconds(20), .world = test_world()});
  } catch (const RankError& e) {
    text = e.what();
  }
  EXPECT_THAT(text,
              AllOf(HasSubstr("purpose differs"),
                    HasSubstr("values of unit 'first'"),
                    HasSubstr("values of unit 'second'")));
}

}  // namespace
}  // namespace tandem::parallel::test
