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

// The count is on the device; its bits are those of a number of the host.
TEST(MergedBatchNormTest, StatisticsAreRoundedAsNumbersOfTheHostAre) {
  NormFirst net(BatchNormSync::merged);
  DataParallel dp(net, {.devices = devices(2), .chunk_sizes = {9, 20}});
  const Batch batch = far_from_zero(1);
  Tensor mean = net.norm.running_mean.clone(), var = net.norm.running_var.clone();
  dp.step(batch, kLoss);
  double total = 0;
  Tensor first, second;
  for (const auto& [begin, rows] : {std::pair{0, 9}, std::pair{9, 20}}) {
    const BatchNormStatistics own =
        batch_norm(batch.x.narrow(0, begin, rows).to(mean.device()), {}, {}, 1e-5).statistics;
    const auto count = static_cast<double>(own.count);
    total += count;
    const Tensor sum = own.mean * count, squares = (own.var + own.mean * own.mean) * count;
    first = first.defined() ? first + sum : sum;
    second = second.defined() ? second + squares : squares;
  }
  const Tensor whole = first / total;
  mean.mul_(1 - 0.1).add_(whole, 0.1);
  var.mul_(1 - 0.1).add_(second / total - whole * whole, 0.1 * total / (total - 1));
  EXPECT_EQ(net.norm.running_mean.to_doubles(), mean.to_doubles());
  const std::vector<double> got = net.norm.running_var.to_doubles(), expected = var.to_doubles();
  for (std::size_t c = 0; c < got.size(); ++c)  // compilers for GPUs join products and sums
    EXPECT_NEAR(got[c], expected[c], testing::on_gpus() ? 1e-14 : 0);
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
