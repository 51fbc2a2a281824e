// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "sim/step/kernel_model.hpp"

#include <gmock/gmock.h>

#include "tandem/sim/presets.hpp"

#include "sim/machine/slowest_gpu.hpp"

namespace tandem::sim {
namespace {

/// A GPU of round numbers.
Gpus gpu() {
  Gpus gpus;
  gpus.multiprocessors = 100;
  gpus.memory_bandwidth = 1e12;
  gpus.peak = {.f32 = 1e13, .f16 = 1e14};
  gpus.efficiency = {.copy = 1, .memory = 0.5, .matmul = 0.8, .beside_collectives = 1};
  gpus.launch = {.gpu = 1e-6, .host = 1e-6};
  return gpus;
}

TEST(KernelModel, TakesTheLongerOfArithmeticAndMemory) {
  const KernelModel model(gpu());
  EXPECT_DOUBLE_EQ(model.seconds({.nbytes = 1'000'000}), 1e-6 + 2e-6);
  EXPECT_DOUBLE_EQ(model.seconds({.flops = 8e7, .nbytes = 1'000'000}), 1e-6 + 1e-5);
  EXPECT_DOUBLE_EQ(model.seconds({.dtype = DType::f16, .flops = 8e7, .nbytes = 1'000'000}),
                   1e-6 + 2e-6);
  EXPECT_DOUBLE_EQ(model.seconds({}), 1e-6) << "a kernel that does nothing";
}

TEST(KernelModel, AllWaitForTheSlowestOfThoseThatWorkTogether) {
  // Tippett 1925: the mean of the largest of n normal values, to three digits.
  for (const auto& [n, deviations] :
       {std::pair(1, 0.0), {2, 0.564}, {4, 1.029}, {8, 1.424}, {100, 2.508}})
    EXPECT_NEAR(slowest_gpu(n), deviations, 5e-4) << n;
  Gpus varied = gpu();
  varied.variation = 0.1;
  const double mean = KernelModel(gpu(), 8).seconds({.nbytes = 1'000'000});
  EXPECT_NEAR(KernelModel(varied, 8).seconds({.nbytes = 1'000'000}), 1.1424 * mean, 1e-9);
  EXPECT_DOUBLE_EQ(KernelModel(varied, 1).seconds({.nbytes = 1'000'000}), mean);
}

TEST(KernelModel, ALargeProductReachesTheEfficiency) {
  const KernelModel model(gpu());
  // 100 tiles of 256 by 128: one whole wave, without a rest.
  EXPECT_DOUBLE_EQ(model.matmul_efficiency({2560, 1280, 4096}, DType::f32), 0.8);
}

TEST(KernelModel, AnotherTileThanTheWavesHoldCostsAWholeWave) {
  const KernelModel model(gpu());
  const double whole = model.matmul_efficiency({2560, 1280, 64}, DType::f32);
  const double more = model.matmul_efficiency({2561, 1281, 64}, DType::f32);
  EXPECT_LT(more, 0.85 * whole);
}

TEST(KernelModel, ASmallResultOfALongSumIsSplit) {
  const KernelModel model(gpu());
  const double split = model.matmul_efficiency({128, 128, 8192}, DType::f32);
  const double not_split = model.matmul_efficiency({128, 128, 256}, DType::f32);
  EXPECT_GT(split, 3 * not_split);
}

TEST(KernelModel, RowsOfSixteenBitsHaveToBeAligned) {
  const KernelModel model(gpu());
  const double aligned = model.matmul_efficiency({1024, 1024, 1024}, DType::f16);
  EXPECT_LT(model.matmul_efficiency({1024, 1024, 1023}, DType::f16), 0.6 * aligned);
  EXPECT_GT(model.matmul_efficiency({1024, 1024, 1023}, DType::f32), 0.9 * aligned);
}

TEST(KernelModel, NoProductIsQuickerThanTheEfficiencyAllows) {
  for (const std::string_view name : preset_names()) {
    const Cluster cluster = preset(name);
    const KernelModel model(cluster.gpus);
    for (const std::int64_t m : {1, 7, 64, 1000, 4096, 50257})
      for (const std::int64_t n : {1, 33, 768, 8192})
        for (const std::int64_t k : {1, 64, 3072, 100000}) {
          const double found = model.matmul_efficiency({m, n, k}, DType::f32);
          ASSERT_GT(found, 0) << name << ' ' << m << ' ' << n << ' ' << k;
          ASSERT_LE(found, cluster.gpus.efficiency.matmul)
              << name << ' ' << m << ' ' << n << ' ' << k;
        }
  }
}

}  // namespace
}  // namespace tandem::sim
