// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "sim/step/host_kernel_model.hpp"

#include <gmock/gmock.h>

namespace tandem::sim {
namespace {

/// A host of round numbers with four cores.
Gpus four_cores() {
  Gpus gpus;
  gpus.kind = GpuKind::host;
  gpus.multiprocessors = 4;
  gpus.memory_bandwidth = 1e10;
  gpus.peak = {.f32 = 1e11, .f64 = 5e10};
  gpus.efficiency = {.copy = 1, .memory = 1, .matmul = 0.5, .beside_collectives = 1};
  gpus.launch = {.gpu = 10e-6, .host = 1e-6};
  gpus.products = HalfSizes{.m = 10, .n = 20, .k = 40};
  gpus.ops = {{"slow", 0.25}};
  return gpus;
}

TEST(HostKernelModel, TakesTheLongerOfArithmeticAndMemoryOnACore) {
  const HostKernelModel model(four_cores(), 4);
  EXPECT_DOUBLE_EQ(model.seconds("add", {.nbytes = 1'000'000}), 100e-6);
  EXPECT_DOUBLE_EQ(model.seconds("add", {.flops = 1e7, .nbytes = 1'000'000}), 200e-6);
  EXPECT_DOUBLE_EQ(model.seconds("slow", {.nbytes = 1'000'000}), 400e-6);
}

TEST(HostKernelModel, WhatACacheHoldsIsFasterThanWhatTheMemoryHolds) {
  Gpus gpus = four_cores();
  gpus.cache = Cache{.size = 1e6, .bandwidth = 4e10};
  const HostKernelModel model(gpus, 4);
  EXPECT_DOUBLE_EQ(model.seconds("add", {.nbytes = 1'000'000}), 25e-6);
  EXPECT_DOUBLE_EQ(model.seconds("add", {.nbytes = 2'000'000}), 200e-6);
  EXPECT_DOUBLE_EQ(model.seconds("slow", {.nbytes = 1'000'000}), 100e-6);
  EXPECT_DOUBLE_EQ(model.seconds("slow", {.nbytes = 2'000'000}), 200e-6) << "both wait for memory";
  EXPECT_DOUBLE_EQ(model.seconds("matmul", {.mnk = {1, 1, 1}, .flops = 1, .nbytes = 2'000'000}),
                   200e-6);
}

TEST(HostKernelModel, AProductIsHalfAsFastAtItsHalfSizes) {
  const HostKernelModel model(four_cores(), 4);
  const auto seconds = [&](std::int64_t m, std::int64_t n, std::int64_t k, DType dtype) {
    return model.seconds("matmul", {.dtype = dtype, .mnk = {m, n, k}, .flops = 1e8});
  };
  constexpr std::int64_t kLarge = 1'000'000'000'000;
  EXPECT_NEAR(seconds(kLarge, kLarge, kLarge, DType::f32), 2e-3, 1e-9);
  EXPECT_NEAR(seconds(kLarge, kLarge, kLarge, DType::f64), 4e-3, 1e-9);
  EXPECT_NEAR(seconds(10, kLarge, kLarge, DType::f32), 4e-3, 1e-9);
  EXPECT_NEAR(seconds(kLarge, 20, kLarge, DType::f32), 4e-3, 1e-9);
  EXPECT_NEAR(seconds(kLarge, kLarge, 40, DType::f32), 4e-3, 1e-9);
  EXPECT_NEAR(seconds(10, 20, 40, DType::f32), 8e-3, 1e-9);
}

TEST(HostKernelModel, DevicesShareTheCoresEvenly) {
  const profile::WorkCost cost{.nbytes = 8'000'000};  // 800 us on one core
  EXPECT_DOUBLE_EQ(HostKernelModel(four_cores(), 4).seconds("add", cost), 800e-6);
  EXPECT_DOUBLE_EQ(HostKernelModel(four_cores(), 2).seconds("add", cost), 410e-6);
  EXPECT_DOUBLE_EQ(HostKernelModel(four_cores(), 1).seconds("add", cost), 210e-6);
  EXPECT_DOUBLE_EQ(HostKernelModel(four_cores(), 3).seconds("add", cost), 800e-6)
      << "a core for each";
  EXPECT_DOUBLE_EQ(HostKernelModel(four_cores(), 8).seconds("add", cost), 1600e-6) << "half a core";
}

TEST(HostKernelModel, AllWaitForTheSlowestDevice) {
  Gpus varied = four_cores();
  varied.variation = 0.1;
  const profile::WorkCost cost{.nbytes = 8'000'000};
  EXPECT_DOUBLE_EQ(HostKernelModel(varied, 1).seconds("add", cost), 210e-6);
  EXPECT_NEAR(HostKernelModel(varied, 2).seconds("add", cost), 410e-6 * 1.0564, 1e-8);
}

TEST(HostKernelModel, WhatIsTooSmallToBeSharedStaysOnACore) {
  EXPECT_DOUBLE_EQ(HostKernelModel(four_cores(), 1).seconds("add", {.nbytes = 100'000}), 10e-6);
}

}  // namespace
}  // namespace tandem::sim
