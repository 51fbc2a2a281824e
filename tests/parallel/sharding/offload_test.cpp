// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Shares of a fully sharded module that are kept on a device outside of the group.
#include <array>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/optim/adam.hpp"
#include "tandem/optim/clip.hpp"
#include "tandem/parallel/data_parallel.hpp"

#include "parallel/nets.hpp"
#include "parallel/sharded_ranks.hpp"

namespace tandem::parallel::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Device home() {
  return testing::device(7);
}

std::array<std::size_t, 3> operator-(std::array<std::size_t, 3> now,
                                     const std::array<std::size_t, 3>& before) {
  for (std::size_t k = 0; k < now.size(); ++k)
    now[k] -= before[k];
  return now;
}

/// Bytes of an Mlp in f64 whose units are padded to so many shares of 256 bytes.
std::size_t nbytes_of_mlp(std::size_t shares) {
  const auto padded = [&](std::size_t numel) {
    const std::size_t multiple = 64 * shares;
    return (numel + multiple - 1) / multiple * multiple * sizeof(double);
  };
  return padded(12 * 16 + 32) + padded(16 * 5 + 32);  // a bias begins at 256 bytes, of 16 and 5
}

/// The values after steps of Adam, some with clipped gradients and without zero_grad.
Values trained(const Mlp& net, const DataParallelOptions& options) {
  Mlp own = nn::clone(net);
  DataParallel dp(own, options);
  optim::Adam adam(own.named_parameters(), {.lr = 0.01});
  for (int step = 0; step < 4; ++step)
    dp.step(batch_of_step(step), kLoss, &adam);
  cross_entropy(dp(batch_of_step(0).x), batch_of_step(0).labels).backward();
  optim::clip_grad_norm_(own.parameters(), 0.1);
  adam.step();
  return values_of(own);
}

TEST(Offload, GivesTheBitsOfSharesOnTheDevices) {
  manual_seed(4);
  const Mlp net;
  for (const int accumulate : {1, 2}) {
    DataParallelOptions options{
        .devices = devices(3), .mode = Mode::fully_sharded, .accumulate = accumulate};
    const Values expected = trained(net, options);
    options.sharding.offload = home();
    EXPECT_EQ(trained(net, options), expected);
    options.sharding.reshard_after_forward = false;
    EXPECT_EQ(trained(net, options), expected);
  }
}

TEST(Offload, LeavesNothingOnTheDevicesBetweenSteps) {
  std::vector<std::array<std::size_t, 3>> before;
  for (const Device d : devices(3))
    before.push_back(held(d));
  const auto home_before = held(home());
  Mlp net;
  DataParallel dp(
      net, {.devices = devices(3), .mode = Mode::fully_sharded, .sharding = {.offload = home()}});
  optim::Adam adam(net.named_parameters(), {.lr = 0.01});
  for (int step = 0; step < 2; ++step)
    dp.step(batch_of_step(step), kLoss, &adam);
  constexpr std::array<std::size_t, 3> kNothing{};
  for (const Device d : devices(3))
    EXPECT_EQ(held(d) - before[static_cast<std::size_t>(d.index)], kNothing) << d;
  const std::size_t whole = nbytes_of_mlp(3);
  EXPECT_EQ(held(home()) - home_before, (std::array<std::size_t, 3>{whole, whole, 2 * whole}));
}

TEST(Offload, OfRanksLeavesNothingOnTheirDevicesBetweenSteps) {
  Mlp alone;
  with_nets(2, alone, [](Mlp& net, Rank& rank) {
    const std::size_t own = held(rank.device())[0];
    FullyShardedDataParallel fsdp(
        net, rank, {.sharding = {.offload = Device{testing::device_type(), 7}}});
    optim::Adam adam(net.named_parameters(), {.lr = 0.01});
    const Batch rows = rows_of(batch_of_step(0), rank);
    cross_entropy(fsdp(rows.x), rows.labels).backward();
    adam.step();
    adam.zero_grad();
    const auto now = held(rank.device());
    EXPECT_LT(now[0], own);
    EXPECT_EQ(now[1], 0u);
    EXPECT_EQ(now[2], 0u);
  });
}

TEST(Offload, ToAMemberOrWithoutSharesIsRefused) {
  Mlp net;
  const auto refused = [&](const DataParallelOptions& options, const auto& text) {
    EXPECT_THAT([&] { DataParallel dp(net, options); }, ThrowsMessage<InvalidArgument>(text));
  };
  refused({.devices = devices(3),
           .mode = Mode::fully_sharded,
           .sharding = {.offload = testing::device(1)}},
          AllOf(HasSubstr("offload is"), HasSubstr("one of the group's devices")));
  refused({.devices = devices(3), .mode = Mode::ddp, .sharding = {.offload = home()}},
          AllOf(HasSubstr("for mode fully_sharded on several devices"), HasSubstr("ddp on 3")));
  refused({.devices = devices(1), .mode = Mode::fully_sharded, .sharding = {.offload = home()}},
          HasSubstr("fully_sharded on 1"));
  Mlp alone;
  with_nets(2, alone, [](Mlp& own, Rank& rank) {
    using Options = FullyShardedDataParallelOptions;
    const auto refused_by_ranks = [&](const Options& options, const char* text) {
      EXPECT_THAT([&] { FullyShardedDataParallel fsdp(own, rank, options); },
                  ThrowsMessage<InvalidArgument>(HasSubstr(text)));
    };
    refused_by_ranks({.sharding = {.offload = rank.device()}}, "which is the device of rank");
    refused_by_ranks({.sharding = {.offload = Device{testing::device_type(), 7}},
                      .strategy = ShardingStrategy::no_shard},
                     "gives each rank all of them");
  });
}

}  // namespace
}  // namespace tandem::parallel::test
