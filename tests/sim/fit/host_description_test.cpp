// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/sim/host_description.hpp"

#include <gmock/gmock.h>

#include "tandem/core/error.hpp"
#include "tandem/sim/collective_model.hpp"

#include "thrown_text.hpp"

namespace tandem::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::thrown_text;

constexpr double kFlops = 8e10;  // of a core, by products that are large in all sizes
constexpr double kCall = 2e-6;

/// The time of a product on a core that is half as fast with 10 rows, 20 columns or sums of 40.
double product_seconds(double m, double n, double k) {
  return kCall + 2 * m * n * k / kFlops * (1 + 10 / m + 20 / n + 40 / k);
}

HostMeasurements measured() {
  HostMeasurements host{.name = "here", .devices = 2, .cores = 4, .memory = 1 << 30};
  host.small_op = kCall;
  host.sharing_op = 5e-6;
  host.hand_over = 3e-6;
  for (const std::int64_t m : {64, 4096})
    for (const std::int64_t n : {64, 4096})
      for (const std::int64_t k : {64, 4096})
        host.products.push_back(
            {{m, n, k},
             product_seconds(
                 static_cast<double>(m), static_cast<double>(n), static_cast<double>(k))});
  host.f64_flops = 4e10;
  host.streams = {
      {1e6, kCall + 50e-6}, {4e6, kCall + 250e-6}, {8e6, kCall + 1600e-6}, {64e6, kCall + 16e-3}};
  host.copy_bandwidth = 1e10;
  host.all_copy_bandwidth = 1.5e10;
  return host;
}

TEST(DescribeHost, FindsWhatProductsWereMadeOf) {
  const Gpus gpus = describe_host(measured()).gpus;
  EXPECT_EQ(gpus.kind, GpuKind::host);
  EXPECT_NEAR(gpus.peak.f32 * gpus.efficiency.matmul, kFlops, 1e-3 * kFlops);
  EXPECT_NEAR(gpus.products->m, 10, 0.05);
  EXPECT_NEAR(gpus.products->n, 20, 0.05);
  EXPECT_NEAR(gpus.products->k, 40, 0.05);
  EXPECT_NEAR(*gpus.peak.f64 * gpus.efficiency.matmul, 4e10, 1e8);
}

TEST(DescribeHost, ACacheEndsWhereStreamsBecomeSlow) {
  HostMeasurements host = measured();
  const Gpus gpus = describe_host(host).gpus;  // 20, 16, 5 and 4 GB/s
  EXPECT_NEAR(gpus.memory_bandwidth, 4e9, 1e6);
  ASSERT_TRUE(gpus.cache);
  EXPECT_NEAR(gpus.cache->bandwidth, 2e10, 1e7);
  EXPECT_EQ(gpus.cache->size, 4e6);
  host.streams = {{1e6, kCall + 50e-6}, {64e6, kCall + 3200e-6}};
  EXPECT_FALSE(describe_host(host).gpus.cache) << "all are as fast";
}

TEST(DescribeHost, AnOpIsAsFastAsItWasMeasuredBesideItsBytes) {
  HostMeasurements host = measured();
  // 200 KB take 10 us at 20 GB/s; the second op is seen twice, in other sizes.
  host.ops = {{"streams", {.nbytes = 200'000}, 10e-6},
              {"counts", {.nbytes = 200'000}, 30e-6},
              {"counts", {.nbytes = 400'000}, 90e-6},
              {"tiny", {.nbytes = 100}, 1e-6}};
  const auto ops = describe_host(host).gpus.ops;
  EXPECT_DOUBLE_EQ(ops.at("streams"), 1);
  EXPECT_DOUBLE_EQ(ops.at("counts"), 0.25);
  EXPECT_FALSE(ops.contains("tiny")) << "its time is that of a call";
}

TEST(DescribeHost, CollectivesAreFittedToTheMeasuredOnes) {
  HostMeasurements host = measured();
  TimingTable table{.name = "host", .gpus = 2};
  for (const std::size_t nbytes : {4096, 1 << 20, 16 << 20}) {
    const double seconds = 20e-6 + static_cast<double>(nbytes) / 4e9;
    table.rows.push_back({nbytes, seconds, seconds});
  }
  host.all_reduces = {table};
  const CollectiveModel model(describe_host(host), 2);
  for (const TimingRow& row : table.rows)
    EXPECT_NEAR(model.time(comm::Collective::Kind::all_reduce, row.nbytes).seconds,
                row.seconds,
                0.01 * row.seconds)
        << row.nbytes;
}

TEST(DescribeHost, IsADescriptionWhoseFiguresAllHaveASource) {
  HostMeasurements host = measured();
  host.ops = {{"relu", {.nbytes = 200'000}, 20e-6}};
  const Cluster cluster = describe_host(host);
  EXPECT_EQ(cluster.name, "here-cpu2");
  EXPECT_EQ(cluster.about, "2 virtual devices on 4 cores of here");
  EXPECT_THAT(figures_without_source(cluster), IsEmpty());
  const std::string text = to_json(cluster);
  const Cluster read = parse_cluster(text);
  EXPECT_EQ(to_json(read), text);
  EXPECT_EQ(read.gpus.kind, GpuKind::host);
  EXPECT_EQ(read.gpus.ops.at("relu"), 0.5);
}

TEST(DescribeHost, RefusesWhatMakesNoDescription) {
  HostMeasurements host = measured();
  host.copy_bandwidth = 0;
  EXPECT_THAT(thrown_text([&] { describe_host(host); }),
              HasSubstr("pcie.bandwidth: 0 GB/s; it must be positive"));
  host.streams.clear();
  EXPECT_EQ(thrown_text([&] { describe_host(host); }),
            "describe_host: there is no measured stream; give at least one");
  host.products.clear();
  EXPECT_EQ(thrown_text([&] { describe_host(host); }),
            "describe_host: there is no measured product; give at least one");
}

}  // namespace
}  // namespace tandem::sim
