// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <optional>

#include <gmock/gmock.h>

#include "tandem/nn/replicate.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/index.hpp"

#include "devices.hpp"
#include "parallel/nets.hpp"

// Running statistics of chunks that are normalised by themselves.
namespace tandem::parallel::test {
namespace {

/// Batch norm before any layer: what it is given does not depend on the chunks.
struct NormFirst : nn::Module {
  explicit NormFirst(BatchNormSync sync, std::optional<double> momentum = 0.1)
      : norm(3, {.momentum = momentum, .sync = sync, .dtype = DType::f64}) {}
  nn::BatchNorm2d norm;
  nn::Linear head{12, 5, {.dtype = DType::f64}};
  Tensor forward(const Tensor& x) { return head(norm(x).flatten(1)); }
  TANDEM_MODULE(NormFirst, norm, head)
};

Batch far_from_zero(std::uint64_t seed) {
  Batch batch = make_batch(29, seed, DType::f64, false);
  batch.x = batch.x * 0.5 + 4.0;
  return batch;
}

TEST(MergedBatchNormTest, RunningStatisticsAreThoseOfTheWholeBatch) {
  for (const std::optional<double> momentum : {std::optional(0.1), std::optional<double>()}) {
    for (const std::vector<std::int64_t>& sizes : {std::vector<std::int64_t>{29, 0, 0},
                                                   std::vector<std::int64_t>{5, 22, 2},
                                                   std::vector<std::int64_t>{0, 12, 17}}) {
      NormFirst net(BatchNormSync::merged, momentum);
      NormFirst alone = nn::clone(net);
      DataParallel dp(net, {.devices = devices(3), .chunk_sizes = sizes});
      for (const std::uint64_t seed : {1U, 2U, 3U}) {
        const Batch batch = far_from_zero(seed);
        dp.step(batch, kLoss);
        alone.norm(batch.x);
      }
      for (const auto& [name, x] : alone.named_buffers()) {
        const std::vector<double> got = net.state_dict().at(name).to_doubles();
        const std::vector<double> expected = x.to_doubles();
        for (std::size_t c = 0; c < got.size(); ++c)
          EXPECT_NEAR(got[c], expected[c], 1e-12 * std::abs(expected[c])) << name << ' ' << c;
      }
      EXPECT_EQ(net.norm.num_batches_tracked.item(), 3);
    }
  }
}

TEST(MergedBatchNormTest, EveryChunkIsNormalisedByItself) {
  NormFirst net(BatchNormSync::merged);
  DataParallel dp(net, {.devices = devices(2), .chunk_sizes = {9, 20}});
  NormFirst alone = nn::clone(net);
  const Batch batch = far_from_zero(1);
  const std::vector<double> expected =
      cat({alone(batch.x.narrow(0, 0, 9)), alone(batch.x.narrow(0, 9, 20))}).to_doubles();
  EXPECT_THAT(dp(batch.x).to_doubles(),
              ::testing::Pointwise(::testing::DoubleNear(1e-9), expected));
}

TEST(MergedBatchNormTest, PerReplicaKeepsTheFirstDevicesStatistics) {
  NormFirst net(BatchNormSync::per_replica);
  NormFirst alone = nn::clone(net);
  DataParallel dp(net, {.devices = devices(2), .chunk_sizes = {9, 20}});
  const Batch batch = far_from_zero(1);
  dp.step(batch, kLoss);
  alone.norm(batch.x.narrow(0, 0, 9));
  EXPECT_EQ(net.norm.running_var.to_doubles(), alone.norm.running_var.to_doubles());
  EXPECT_EQ(net.norm.num_batches_tracked.item(), 1);
}

}  // namespace
}  // namespace tandem::parallel::test
