// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints of programs of ranks that each have a share (FullyShardedDataParallel).

#include <tuple>

#include <gmock/gmock.h>

#include "tandem/ops/arithmetic.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/train/sharded_checkpoint.hpp"

#include "io/temp_dir.hpp"
#include "parallel/sharded_ranks.hpp"

namespace tandem::training::test {
namespace {

using namespace parallel::test;
using parallel::FullyShardedDataParallel;

Values state_of(const optim::Optimizer& optimizer) {
  Values values;
  for (const auto& [name, x] : optimizer.state_dict().tensors)
    values[name] = x.to_doubles();
  return values;
}

/// Parameters and state of a run.
struct Snapshot {
  Values values, state;
  bool operator==(const Snapshot&) const = default;
};

class RankCheckpointTest : public ::testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(RankCheckpointTest, LoadsOnOtherRanksAndUnderDataParallel) {
  const auto [saved_on, loaded_on] = GetParam();
  const tandem::testing::TempDir dir;
  const std::string folder = dir.file("run");
  const RunState state{.model = "mlp"};
  Mlp alone, other;
  Snapshot saved;
  with_nets(saved_on, alone, [&](Mlp& net, parallel::Rank& rank) {
    FullyShardedDataParallel fsdp(net, rank);
    optim::Adam adam(net.named_parameters(), {.lr = 0.1});
    const parallel::test::Batch batch = rows_of(batch_of_step(0), rank);
    cross_entropy(fsdp(batch.x), batch.labels).backward();
    adam.step();
    unsharded(fsdp,
              [&] { save_sharded_checkpoint(folder, net, adam, state, {.files = rank.size()}); });
    const Snapshot own{unsharded_values(fsdp), state_of(adam)};
    if (rank.rank() == 0) saved = own;
  });
  EXPECT_THAT(dir.names(), ::testing::ElementsAre("run"));
  EXPECT_EQ(saved.state.size(), 8U);

  with_nets(loaded_on, other, [&](Mlp& net, parallel::Rank& rank) {
    FullyShardedDataParallel fsdp(net, rank);
    optim::Adam adam(net.named_parameters(), {.lr = 0.5});
    unsharded(fsdp, [&] { load_checkpoint(folder, net, adam, state); });
    EXPECT_EQ((Snapshot{unsharded_values(fsdp), state_of(adam)}), saved);
  });

  parallel::DataParallel dp(other,
                            {.devices = devices(loaded_on), .mode = parallel::Mode::fully_sharded});
  optim::Adam adam(other.named_parameters(), {.lr = 0.5});
  load_checkpoint(folder, other, adam, state);
  EXPECT_EQ((Snapshot{values_of(other), state_of(adam)}), saved);
}

INSTANTIATE_TEST_SUITE_P(Ranks,
                         RankCheckpointTest,
                         ::testing::Combine(::testing::Values(1, 3), ::testing::Values(1, 2, 4)));

}  // namespace
}  // namespace tandem::training::test
