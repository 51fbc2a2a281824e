// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdlib>
#include <map>
#include <numeric>
#include <string>

#include <cuda_runtime_api.h>
#include <gmock/gmock.h>

#include "tandem/core/error.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/unary.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/parallel/replica_error.hpp"
#include "tandem/runtime/buffer.hpp"

#include "cuda/gpus.hpp"
#include "parallel/nets.hpp"
#include "thrown_text.hpp"

namespace tandem::cuda::test {
namespace {

using parallel::DataParallel;
using parallel::test::Batch;
using parallel::test::Cnn;
using parallel::test::kLoss;
using parallel::test::make_batch;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::thrown_text;

constexpr std::size_t kMiB = std::size_t{1} << 20;

Buffer make(int device, std::size_t nbytes) {
  return {gpu(device), nbytes, Category::activation};
}

class MemoryTest : public GpusTest {
 protected:
  static MemoryStats stats(int device) { return logical_device(gpu(device)).memory_stats(); }
};

TEST_F(MemoryTest, ALimitIsExactToTheByte) {
  logical_device(gpu(1)).set_limit(kMiB);
  { const Buffer all = make(1, kMiB); }
  try {
    make(1, kMiB + 1);
    FAIL();
  } catch (const OutOfMemory& e) {
    EXPECT_EQ(e.device(), "cuda:1");
    EXPECT_EQ(e.asked(), kMiB + 1);
    EXPECT_EQ(e.in_use(), 0u);
    EXPECT_EQ(e.limit(), kMiB);
  }
  const Buffer other = make(0, kMiB + 1);
  const Buffer most = make(1, kMiB - 1);
  { const Buffer last = make(1, 1); }
  EXPECT_THAT(thrown_text<OutOfMemory>([] { make(1, 2); }), HasSubstr("cuda:1"));
}

TEST_F(MemoryTest, AFullGpuIsTheSameError) {
  stand_in::set_memory(4 * kMiB);
  const Buffer half = make(2, 2 * kMiB);
  try {
    make(3, 3 * kMiB);
    FAIL();
  } catch (const OutOfMemory& e) {
    EXPECT_EQ(e.device(), "cuda:3");
    EXPECT_EQ(e.asked(), 3 * kMiB);
    EXPECT_EQ(e.in_use(), 0u);
    EXPECT_EQ(e.limit(), SIZE_MAX);
  }
  EXPECT_EQ(stats(3).in_use, 0u);
  const Buffer rest = make(3, 2 * kMiB);
  const Buffer elsewhere = make(0, 3 * kMiB);
}

TEST_F(MemoryTest, WhatADeviceKeepsIsGivenBackWhereAnotherSizeNeedsIt) {
  stand_in::set_memory(4 * kMiB);
  { const Buffer small = make(0, kMiB); }
  const Buffer large = make(0, 4 * kMiB);
  EXPECT_EQ(stand_in::live_bytes(0), 4 * kMiB);
}

TEST_F(MemoryTest, WhatADeviceKeepsIsGivenBackWhereAnotherDeviceOfItsGpuNeedsIt) {
  stand_in::set_memory(4 * kMiB);
  { const Buffer first = make(0, 3 * kMiB); }
  const Buffer second = make(1, 3 * kMiB);
  EXPECT_EQ(stand_in::live_bytes(0), 3 * kMiB);
}

TEST_F(MemoryTest, PoolsOfAGpuAreSeparate) {
  { const Buffer first = make(0, kMiB); }
  EXPECT_EQ(stats(0).system_allocations, 1u);
  const Buffer other = make(1, kMiB);
  EXPECT_EQ(stats(1).system_allocations, 1u) << "not the other device's block";
  const Buffer again = make(0, kMiB);
  EXPECT_EQ(stats(0).system_allocations, 1u) << "its own block";
}

TEST_F(MemoryTest, StatisticsAddUp) {
  const Buffer weights(gpu(1), 1000, Category::parameter);
  Buffer work(gpu(1), 500, Category::workspace);
  work.recategorise(Category::gradient);
  { const Buffer more(gpu(1), 2000, Category::activation); }
  const MemoryStats now = stats(1);
  const auto at = [](const auto& list, Category c) { return list[static_cast<std::size_t>(c)]; };
  EXPECT_EQ(now.in_use, 1500u);
  EXPECT_EQ(now.peak, 3500u);
  EXPECT_EQ(at(now.by_category, Category::parameter), 1000u);
  EXPECT_EQ(at(now.by_category, Category::gradient), 500u);
  EXPECT_EQ(at(now.by_category, Category::workspace), 0u);
  EXPECT_EQ(at(now.peak_by_category, Category::activation), 2000u);
  EXPECT_EQ(now.allocations, 3u);
  EXPECT_EQ(stand_in::live_bytes(0), 1024u + 512 + 2048) << "sizes are rounded, one is kept";
  logical_device(gpu(1)).release_cached();
  EXPECT_EQ(stand_in::live_bytes(0), 1024u + 512);
  EXPECT_EQ(stats(0).in_use, 0u);
}

TEST_F(MemoryTest, WhatIsKeptIsGivenBackToTheGpu) {
  stand_in::set_memory(8 * kMiB);
  for (int i = 0; i < 3; ++i) {
    { const Buffer kept = make(0, 4 * kMiB); }
    logical_device(gpu(0)).release_cached();
    std::size_t free = 0, total = 0;
    ASSERT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
    EXPECT_EQ(free, 8 * kMiB);
  }
}

TEST_F(MemoryTest, ABlockIsUsedAgainWithoutTheDriver) {
  constexpr std::size_t kMost = 16 * kMiB;
  for (const std::size_t n : {std::size_t{1}, std::size_t{1000}, kMost}) {
    { const Buffer first = make(0, n); }
    stand_in::reset();
    const Buffer again = make(0, n);
    EXPECT_TRUE(stand_in::call_counts().empty()) << n;
  }
  { const Buffer large = make(0, kMost + 1); }
  EXPECT_EQ(stand_in::call_counts()["cudaFreeAsync"], 1) << "the pool cuts it for others";
}

// Each call of the driver costs up to a microsecond, and a launch two or three.
TEST_F(MemoryTest, AnOpAsksTheDriverForLittle) {
  const Tensor x = ones({10}, {.device = gpu(0)});
  const auto run = [&] {
    for (int i = 0; i < 100; ++i)
      (void)relu(x + x);
  };
  run();
  stand_in::reset();
  run();
  const std::map<std::string, int> expected{
      {"cudaGetDevice", 200}, {"cudaLaunchKernel", 200}, {"cudaPeekAtLastError", 200}};
  EXPECT_EQ(stand_in::call_counts(), expected);
}

/// A model on cuda:0 and its replicas, with one step done.
struct SmallTraining {
  explicit SmallTraining(const std::vector<Device>& devices) : dp(net, {.devices = devices}) {
    step();
  }
  void step() { dp.step(batch, kLoss, &optimizer); }

  Cnn net;
  optim::AdamW optimizer{net.named_parameters(), {.lr = 0.01}};
  DataParallel<Cnn> dp;
  Batch batch = make_batch(8, 2, DType::f64, false);
};

class TrainingMemoryTest : public MemoryTest {
 protected:
  TrainingMemoryTest() { set_default_device(gpu(0)); }
  /// Bytes of the GPUs that nobody has freed.
  static std::size_t held() { return stand_in::live_bytes(0) + stand_in::live_bytes(1); }
  void release() const {
    for (const Device d : devices)
      logical_device(d).release_cached();
  }
  /// Trains, first until memory is steady; returns the bytes in use then.
  std::size_t train_steadily() const {
    SmallTraining training(devices);
    for_each_seed([&](int) { training.step(); });
    std::vector<std::uint64_t> before, after;
    for (const Device d : devices)
      before.push_back(stats(d.index).system_allocations);
    const std::size_t bytes = held(), objects = stand_in::live_objects();
    for_each_seed([&](int) { training.step(); });
    std::size_t in_use = 0;
    for (const Device d : devices) {
      after.push_back(stats(d.index).system_allocations);
      const MemoryStats now = stats(d.index);
      EXPECT_EQ(std::reduce(now.by_category.begin(), now.by_category.end()), now.in_use);
      EXPECT_EQ(std::reduce(now.peak_by_category.begin(), now.peak_by_category.end()), now.peak);
      in_use += now.in_use;
    }
    EXPECT_EQ(after, before);
    EXPECT_EQ(held(), bytes);
    EXPECT_EQ(stand_in::live_objects(), objects);
    release();
    held_in_training_ = held();
    return in_use;
  }
  std::size_t held_in_training() const { return held_in_training_; }

  const std::vector<Device> devices{gpu(0), gpu(1), gpu(2)};

 private:
  mutable std::size_t held_in_training_ = 0;
};

TEST_F(TrainingMemoryTest, ASteadyStepAsksTheSystemForNothing) {
  const std::size_t empty = held();
  const std::size_t in_use = train_steadily();
  EXPECT_GE(held_in_training(), in_use);
  EXPECT_LE(held_in_training(), in_use + in_use / 8 + 256 * 1024) << "rounded up to classes";
  release();
  EXPECT_EQ(held(), empty);
}

/// Before devices are made.
struct NoCaching {
  NoCaching() { setenv("TANDEM_NO_CUDA_MEMORY_CACHING", "1", 1); }
};
class UncachedTrainingTest : private NoCaching, public TrainingMemoryTest {};

TEST_F(UncachedTrainingTest, WhatTheGpuGaveIsWhatIsCounted) {
  const std::size_t empty = held();
  const std::size_t in_use = train_steadily();
  EXPECT_EQ(held_in_training(), in_use);
  EXPECT_EQ(held(), empty);
}

TEST_F(TrainingMemoryTest, AStepFitsInItsPeakAndNotInAByteLess) {
  SmallTraining training(devices);
  for (const Device d : devices) {
    SCOPED_TRACE(to_string(d));
    LogicalDevice& device = logical_device(d);
    device.reset_peak();
    training.step();
    const std::size_t peak = device.memory_stats().peak;
    device.set_limit(peak);
    training.step();
    const auto before = parallel::test::values_of(training.net);
    const std::size_t in_use = device.memory_stats().in_use;
    device.set_limit(peak - 1);
    try {
      training.step();
      ADD_FAILURE() << "it ran in " << peak - 1 << " bytes";
    } catch (const parallel::ReplicaError& e) {
      const auto* cause = find_cause<OutOfMemory>(e);
      ASSERT_NE(cause, nullptr) << e.what();
      EXPECT_EQ(cause->device(), to_string(d));
      EXPECT_EQ(cause->limit(), peak - 1);
    }
    device.set_limit(SIZE_MAX);
    EXPECT_EQ(device.memory_stats().in_use, in_use);
    EXPECT_EQ(parallel::test::values_of(training.net), before);
    training.step();
  }
}

}  // namespace
}  // namespace tandem::cuda::test
