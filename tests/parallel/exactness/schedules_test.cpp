// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <atomic>
#include <thread>

#include <gmock/gmock.h>

#include "tandem/nn/replicate.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/runtime/fault.hpp"

#include "devices.hpp"
#include "parallel/nets.hpp"

// Threads that meet in any order, and more of them than cores.
namespace tandem::parallel::test {
namespace {

constexpr int kEpochSteps = 3;

/// The weights after a few steps of both loops.
Values train(const NormMlp& start, const DataParallelOptions& options, std::int64_t rows) {
  manual_seed(5);
  NormMlp net = nn::clone(start);
  optim::AdamW optimizer(net.named_parameters(), {.lr = 0.01});
  DataParallel dp(net, options);
  const Batch batch = make_batch(rows, 5, DType::f64, false);
  for (int i = 0; i < kEpochSteps; ++i)
    dp.step(batch, kLoss, &optimizer);
  optimizer.zero_grad();
  cross_entropy(dp(batch.x), batch.labels).backward();
  optimizer.step();
  return values_of(net);
}

/// A number that depends on all of these and on nothing else.
std::uint64_t mixed(std::uint64_t seed, std::uint64_t n) {
  std::uint64_t z = seed * 0x9e3779b97f4a7c15u + n;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

class Schedules : public ::testing::TestWithParam<Mode> {};

// Every piece of work may come late: the order in which replicas reach each other is another one in
// each schedule, and no bit may depend on it.
TEST_P(Schedules, NoBitDependsOnWhoComesLate) {
  const NormMlp start;
  const DataParallelOptions options{
      .devices = devices(4), .mode = GetParam(), .chunk_sizes = {3, 0, 5, 4}};
  const Values right = train(start, options, 12);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::atomic<std::uint64_t> works{0};
    std::atomic<int> delays{0};
    const WorkFaultScope scope([&](const Work&, Device device) {
      const std::uint64_t n = works.fetch_add(1) * 64 + static_cast<std::uint64_t>(device.index);
      const std::uint64_t r = mixed(seed, n);
      if (r % 8 != 0) return;
      ++delays;
      std::this_thread::sleep_for(std::chrono::microseconds((r >> 8) % 200));
    });
    EXPECT_EQ(train(start, options, 12), right) << "schedule " << seed;
    EXPECT_GT(delays, 20);
  }
}

TEST_P(Schedules, SixtyFourDevicesOnFewCores) {
  const NormMlp start;
  const std::int64_t rows = 130;
  const Values right = train(start, {.devices = devices(1)}, rows);
  const Values values = train(start, {.devices = devices(64), .mode = GetParam()}, rows);
  EXPECT_LE(difference(values, right), 1e-12);
}

INSTANTIATE_TEST_SUITE_P(All, Schedules, ::testing::ValuesIn(kModes), [](const auto& instance) {
  return std::string(name(instance.param));
});

}  // namespace
}  // namespace tandem::parallel::test
