// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <dirent.h>
#include <gmock/gmock.h>

#include "tandem/optim/adam.hpp"
#include "tandem/parallel/replica_error.hpp"

#include "devices.hpp"
#include "parallel/nets.hpp"

namespace tandem::parallel::test {
namespace {

using ::testing::HasSubstr;

LogicalDevice& device(int i) {
  return logical_device(testing::device(i));
}

int thread_count() {
  int n = 0;
  DIR* tasks = opendir("/proc/self/task");
  while (readdir(tasks) != nullptr)
    ++n;
  closedir(tasks);
  return n;
}

class LimitsTest : public ::testing::Test {
 protected:
  LimitsTest() { step(); }
  ~LimitsTest() override {
    for (int d = 0; d < kDevices; ++d)
      device(d).set_limit(SIZE_MAX);
  }
  void step() { dp.step(batch, kLoss, &optimizer); }
  /// Peak bytes of one step on a device.
  std::size_t peak(int d) {
    device(d).reset_peak();
    step();
    return device(d).memory_stats().peak;
  }

  Cnn net;
  optim::AdamW optimizer{net.named_parameters(), {.lr = 0.01}};
  DataParallel<Cnn> dp{net, {.devices = devices(kDevices), .gpu0_bsz = 3}};
  Batch batch = make_batch(13, 2, DType::f64, false);
};

TEST_F(LimitsTest, AStepRunsAtItsPeakAndNotBelow) {
  for (int d = 0; d < kDevices; ++d) {
    const std::size_t x = peak(d);
    const std::size_t in_use = device(d).memory_stats().in_use;
    device(d).set_limit(x);
    EXPECT_NO_THROW(step()) << "device " << d;
    device(d).set_limit(x - 1);
    optimizer.zero_grad();
    try {
      step();
      ADD_FAILURE() << "device " << d << " took " << x << " bytes under a limit of one less";
    } catch (const ReplicaError& e) {
      const auto* cause = find_cause<OutOfMemory>(e);
      ASSERT_NE(cause, nullptr) << e.what();
      EXPECT_EQ(cause->limit(), x - 1);
      EXPECT_EQ(cause->device(), to_string(device(d).device()));
      EXPECT_GT(cause->asked() + cause->in_use(), x - 1);
      EXPECT_THAT(e.what(), HasSubstr("largest owners: "));
    }
    EXPECT_EQ(device(d).memory_stats().in_use, in_use);
    device(d).set_limit(SIZE_MAX);
    step();
  }
}

TEST_F(LimitsTest, PeaksAreTheSameEveryTime) {
  std::vector<std::size_t> first;
  for (int d = 0; d < kDevices; ++d)
    first.push_back(peak(d));
  for (int repetition = 0; repetition < 20; ++repetition) {
    for (int d = 0; d < kDevices; ++d)
      EXPECT_EQ(peak(d), first[static_cast<std::size_t>(d)]) << "device " << d;
  }
}

TEST_F(LimitsTest, ASteadyStepTakesNothingFromTheSystem) {
  for (int i = 0; i < 3; ++i)
    step();
  const int threads = thread_count();
  std::vector<std::uint64_t> before;
  for (int d = 0; d < kDevices; ++d)
    before.push_back(device(d).memory_stats().system_allocations);
  for (int i = 0; i < 10; ++i)
    step();
  for (int d = 0; d < kDevices; ++d) {
    EXPECT_EQ(device(d).memory_stats().system_allocations, before[static_cast<std::size_t>(d)])
        << "device " << d;
  }
  EXPECT_EQ(thread_count(), threads);
}

TEST_F(LimitsTest, CategoriesAddUpToTheTotal) {
  for (int d = 0; d < kDevices; ++d) {
    const MemoryStats stats = device(d).memory_stats();
    std::size_t now = 0, peak = 0;
    for (int c = 0; c < kCategories; ++c) {
      now += stats.by_category[static_cast<std::size_t>(c)];
      peak += stats.peak_by_category[static_cast<std::size_t>(c)];
    }
    EXPECT_EQ(now, stats.in_use);
    EXPECT_EQ(peak, stats.peak);
  }
}

}  // namespace
}  // namespace tandem::parallel::test
