// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>

#include "tandem/nn/replicate.hpp"
#include "tandem/optim/sgd.hpp"
#include "tandem/parallel/replica_error.hpp"

#include "devices.hpp"
#include "no_threads.hpp"
#include "parallel/nets.hpp"
#include "sanitized.hpp"
#include "thrown_text.hpp"

// The beginning and the end of a wrapper: what it takes, and whether it gives it back, whichever
// way it ends.
namespace tandem::parallel::test {
namespace {

using ::testing::HasSubstr;
using testing::thrown_text;
using Clock = std::chrono::steady_clock;

std::ptrdiff_t entries(const char* folder) {
  return std::distance(std::filesystem::directory_iterator(folder), {});
}

/// A thread that has been joined is listed for a moment longer: the least of a tenth of a second.
std::ptrdiff_t threads_that_stay() {
  std::ptrdiff_t least = entries("/proc/self/task");
  for (int i = 0; i < 50; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    least = std::min(least, entries("/proc/self/task"));
  }
  return least;
}

/// What the process holds.
struct HeldByDevices {
  std::ptrdiff_t threads = threads_that_stay();
  std::ptrdiff_t descriptors = entries("/proc/self/fd");
  std::vector<std::size_t> in_use;  // by device

  explicit HeldByDevices(int devices) {
    for (const Device d : testing::devices(devices))
      in_use.push_back(logical_device(d).memory_stats().in_use);
  }
  friend bool operator==(const HeldByDevices&, const HeldByDevices&) = default;
  friend std::ostream& operator<<(std::ostream& s, const HeldByDevices& h) {
    return s << h.threads << " threads, " << h.descriptors << " descriptors, bytes "
             << ::testing::PrintToString(h.in_use);
  }
};

class Lifetime : public ::testing::TestWithParam<Mode> {};

TEST_P(Lifetime, AThousandWrappersLeaveNothingBehind) {
  NormMlp net;
  const Batch batch = small_batch();
  const auto live = [&](int i) {
    DataParallel dp(net, {.devices = devices(3), .mode = GetParam()});
    if (i % 20 != 0) return;
    dp.step(batch, kLoss);
    net.zero_grad();
  };
  live(0);
  const HeldByDevices before(3);
  for (int i = 0; i < (testing::kSanitized ? 100 : 1000); ++i)
    live(i);
  EXPECT_EQ(HeldByDevices(3), before);
}

TEST_P(Lifetime, AThousandFailedConstructionsLeaveNothingBehind) {
  NormMlp net;
  DataParallel wrapped(net, {.devices = devices(3), .mode = GetParam()});
  wrapped.step(small_batch(), kLoss);
  NormMlp other;
  const HeldByDevices before(3);
  LogicalDevice& last = logical_device(devices(3)[2]);
  last.set_limit(last.memory_stats().in_use + 100);
  for (int i = 0; i < (testing::kSanitized ? 50 : 500); ++i) {
    EXPECT_THROW(DataParallel(net, {.devices = devices(3), .mode = GetParam()}), InvalidArgument);
    EXPECT_THROW(DataParallel(other, {.devices = devices(3), .mode = GetParam()}), OutOfMemory);
  }
  last.set_limit(SIZE_MAX);
  const HeldByDevices after(3);
  EXPECT_EQ(after.threads, before.threads);
  EXPECT_EQ(after.descriptors, before.descriptors);
  EXPECT_EQ(std::vector(after.in_use.begin() + 1, after.in_use.end()),
            std::vector(before.in_use.begin() + 1, before.in_use.end()));
  DataParallel now(other, {.devices = devices(3), .mode = GetParam()});
  now.step(small_batch(), kLoss);
}

// The replicas of the call that is under way wait for one that has been told to hang, until the
// wrapper goes.
TEST_P(Lifetime, DestructionInTheMiddleOfAStepEndsIt) {
  NormMlp net;
  const Batch batch = small_batch();
  optim::SGD optimizer(net.named_parameters(), {.lr = 0.1});
  const Values before = values_of(net);
  auto dp = std::make_unique<DataParallel<NormMlp>>(
      net, DataParallelOptions{.devices = devices(3), .mode = GetParam()});
  std::atomic<bool> inside{false}, release{false};
  const auto loss = [&](NormMlp& m, const Batch& b) {
    if (context().replica == 1) {
      inside = true;
      while (!release)
        std::this_thread::yield();
    }
    return cross_entropy_sum(m(b.x), b.labels);
  };
  std::string text;
  std::thread step([&, wrapper = dp.get()] {
    text = thrown_text<ReplicaError>([&] { wrapper->step(batch, loss, &optimizer); });
  });
  while (!inside)
    std::this_thread::yield();
  std::thread releaser([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    release = true;
  });
  const auto start = Clock::now();
  dp.reset();
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(2));
  step.join();
  releaser.join();
  EXPECT_THAT(text, HasSubstr("the DataParallel was destroyed in the middle of the call"));
  EXPECT_EQ(values_of(net), before);
  DataParallel again(net, {.devices = devices(3), .mode = GetParam()});
  again.step(batch, kLoss, &optimizer);
}

TEST_P(Lifetime, DestructionAtAnyMomentLeavesAWholeStepOrNone) {
  NormMlp net;
  NormMlp alone = nn::clone(net);
  const Batch batch = small_batch();
  const auto step = [&](NormMlp& m, std::unique_ptr<DataParallel<NormMlp>>& dp) {
    optim::SGD optimizer(m.named_parameters(), {.lr = 0.1});
    dp->step(batch, kLoss, &optimizer);
  };
  int cancelled = 0;
  for (int i = 0; i < 40; ++i) {
    auto dp = std::make_unique<DataParallel<NormMlp>>(
        net, DataParallelOptions{.devices = devices(3), .mode = GetParam()});
    std::atomic<bool> inside{false};
    std::atomic<bool> done{false};
    std::thread thread([&, wrapper = dp.get()] {
      optim::SGD optimizer(net.named_parameters(), {.lr = 0.1});
      try {
        wrapper->step(
            batch,
            [&](NormMlp& m, const Batch& b) {
              inside = true;
              return cross_entropy_sum(m(b.x), b.labels);
            },
            &optimizer);
        done = true;
      } catch (const ReplicaError&) {
      }
    });
    while (!inside)
      std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(25 * i));
    dp.reset();
    thread.join();
    if (done) {
      auto same = std::make_unique<DataParallel<NormMlp>>(
          alone, DataParallelOptions{.devices = devices(3), .mode = GetParam()});
      step(alone, same);
    } else {
      ++cancelled;
    }
    ASSERT_EQ(values_of(net), values_of(alone)) << "round " << i << (done ? ", done" : "");
  }
  EXPECT_GT(cancelled, 0);
}

INSTANTIATE_TEST_SUITE_P(All, Lifetime, ::testing::ValuesIn(kModes), [](const auto& instance) {
  return std::string(name(instance.param));
});

TEST(LifetimeTest, AfterAnErrorTheModuleIsFree) {
  NormMlp net;
  const Batch batch = small_batch();
  const auto fails = [](NormMlp&, const Batch&) -> WeightedSum { throw std::runtime_error("bad"); };
  const HeldByDevices before(2);
  {
    DataParallel dp(net, {.devices = devices(2)});
    EXPECT_THROW(dp.step(batch, fails), ReplicaError);
  }
  EXPECT_EQ(HeldByDevices(2).in_use[1], before.in_use[1]);
  DataParallel dp(net, {.devices = devices(2)});
  dp.step(batch, kLoss);
}

TEST(LifetimeTest, MovedFromItSaysSo) {
  NormMlp net;
  const Batch batch = small_batch();
  DataParallel dp(net, {.devices = devices(2)});
  DataParallel moved(std::move(dp));
  const std::vector<std::function<void()>> calls{[&] { dp.step(batch, kLoss); },
                                                 [&] { dp(batch.x); },
                                                 [&] { dp.sync(); },
                                                 [&] { const auto scope = dp.no_sync(); },
                                                 [&] { dp.plan(4); },
                                                 [&] { dp.replica(1); },
                                                 [&] { dp.devices(); }};
  for (const auto& call : calls)
    EXPECT_THAT(thrown_text(call), HasSubstr("moved from"));
  moved.step(batch, kLoss);
}

// A wrapper that lives until exit ends after main, when other objects are gone already.
TEST(LifetimeDeathTest, EndsAtExit) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  devices(2);
  EXPECT_EXIT(
      {
        static NormMlp net;
        static DataParallel dp(net, {.devices = devices(2)});
        dp.step(small_batch(), kLoss);
        std::exit(0);
      },
      ::testing::ExitedWithCode(0),
      "");
}

// Devices that no other test of this program uses: their threads have not started.
TEST(ThreadStartTest, AThreadThatDoesNotStartIsNamedAndTheOthersDoNotWait) {
  if (testing::on_gpus()) GTEST_SKIP() << "needs devices without threads";
  constexpr int kFirst = 40, kReplicas = 4;
  std::vector<Device> list;
  for (int i = 0; i < kReplicas; ++i)
    list.push_back({DeviceType::cpu, kFirst + i});
  NormMlp net = nn::clone(NormMlp());
  net.to(list[0]);
  DataParallel dp(net, {.devices = list});
  const Batch batch = small_batch();
  for (int k = 0; k < kReplicas; ++k) {
    const auto start = Clock::now();
    {
      const testing::NoThreads none;
      EXPECT_THAT(
          thrown_text<ReplicaError>([&] { dp.step(batch, kLoss); }),
          HasSubstr("replica " + std::to_string(k) + " on cpu:" + std::to_string(kFirst + k)))
          << k;
    }
    EXPECT_LT(Clock::now() - start, std::chrono::seconds(5)) << k;
    logical_device(list[static_cast<std::size_t>(k)]).worker();
  }
  dp.step(batch, kLoss);
}

TEST(ThreadStartTest, InModeClassicNoThreadStartsLater) {
  NormMlp net;
  DataParallel dp(net, {.devices = devices(3), .mode = Mode::classic});
  const Batch batch = small_batch();
  dp.step(batch, kLoss);
  const testing::NoThreads none;
  EXPECT_NO_THROW(dp.step(batch, kLoss));
}

}  // namespace
}  // namespace tandem::parallel::test
