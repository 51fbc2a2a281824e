// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/worker.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include "tandem/core/error.hpp"
#include "tandem/runtime/runtime.hpp"

#include "thrown_text.hpp"

namespace tandem {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::thrown_text;
using Clock = std::chrono::steady_clock;

TEST(Worker, RunsJobsInOrderOnItsThread) {
  Worker worker("test");
  std::vector<int> order;
  bool current = true;
  std::optional<Ticket> last;
  for (int i = 0; i < 200; ++i) {
    last = worker.submit([&, i] {
      order.push_back(i);
      current = current && worker.is_current();
    });
  }
  last->wait();
  std::vector<int> expected(200);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(order, expected);
  EXPECT_TRUE(current);
  EXPECT_FALSE(worker.is_current());
}

/// The stack of a worker's thread.
std::size_t stack_of_worker() {
  std::size_t size = 0;
  Worker worker("cpu:0");
  worker
      .submit([&size] {
        pthread_attr_t own;
        ::pthread_getattr_np(::pthread_self(), &own);
        ::pthread_attr_getstacksize(&own, &size);
        ::pthread_attr_destroy(&own);
      })
      .wait();
  return size;
}

TEST(Worker, HasItsStackWhateverThreadsOfThisProcessHave) {
  pthread_attr_t before, small;
  ASSERT_EQ(::pthread_getattr_default_np(&before), 0);
  ::pthread_attr_init(&small);
  ::pthread_attr_setstacksize(&small, std::size_t{1} << 20);
  ASSERT_EQ(::pthread_setattr_default_np(&small), 0);
  EXPECT_GE(stack_of_worker(), std::size_t{8} << 20);
  EXPECT_EQ(::pthread_setattr_default_np(&before), 0);
  ::pthread_attr_destroy(&small);
  ::pthread_attr_destroy(&before);
}

TEST(Worker, TakesJobsFromManyThreads) {
  Worker worker("test");
  int sum = 0;  // only the worker's thread touches it
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i)
        worker.submit([&] { ++sum; }).wait();
    });
  }
  for (std::thread& t : threads)
    t.join();
  EXPECT_EQ(sum, 400);
}

TEST(Worker, AJobMaySubmitTheNext) {
  Worker worker("test");
  std::optional<Ticket> inner;
  bool ran = false;
  worker.submit([&] { inner = worker.submit([&] { ran = true; }); }).wait();
  inner->wait();
  EXPECT_TRUE(ran);
}

TEST(Worker, AJobThatWaitsMayRunTheNext) {
  Worker worker("test");
  std::vector<int> order;
  Ticket first = worker.submit([&] {
    EXPECT_FALSE(worker.run_next());
    Ticket next = worker.submit([&] { order.push_back(1); });
    worker.submit([&] { order.push_back(3); });
    EXPECT_TRUE(worker.run_next());
    next.wait();
    order.push_back(2);
  });
  first.wait();
  worker.submit([] {}).wait();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

TEST(Ticket, RethrowsWhatTheJobThrew) {
  Worker worker("test");
  Ticket bad = worker.submit([] { throw InvalidArgument("row 7 is bad"); });
  Ticket odd = worker.submit([] { throw 42; });
  Ticket good = worker.submit([] {});
  EXPECT_EQ(thrown_text([&] { bad.wait(); }), "row 7 is bad");
  EXPECT_THROW(odd.wait(), int);
  EXPECT_NO_THROW(good.wait()) << "a failed job does not disturb the next";
  EXPECT_EQ(good.outcome(), nullptr);
}

TEST(Ticket, OutcomeHandsTheExceptionOver) {
  Worker worker("test");
  Ticket bad = worker.submit([] { throw InvalidArgument("row 7 is bad"); });
  EXPECT_EQ(describe(bad.outcome()), "row 7 is bad");
  EXPECT_EQ(bad.outcome(), nullptr);
}

TEST(Ticket, TimesOutWhileTheJobGoesOn) {
  Worker worker("cpu:5");
  std::atomic<bool> release{false};
  Ticket slow = worker.submit([&] {
    while (!release)
      std::this_thread::sleep_for(1ms);
  });
  const auto start = Clock::now();
  EXPECT_THAT(thrown_text<Timeout>([&] { slow.wait(start + 50ms); }), HasSubstr("cpu:5"));
  EXPECT_GE(Clock::now() - start, 50ms);
  EXPECT_LT(Clock::now() - start, 5s);
  release = true;
  EXPECT_NO_THROW(slow.wait(Clock::now() + 30s));
}

TEST(Ticket, JobsCapturesAreReleasedBeforeTheWaiterGoesOn) {
  Worker worker("test");
  auto held = std::make_shared<int>(1);
  worker.submit([held] { (void)*held; }).wait();
  EXPECT_EQ(held.use_count(), 1);
}

TEST(Worker, DestructorRunsWhatIsQueued) {
  int done = 0;
  {
    Worker worker("test");
    for (int i = 0; i < 50; ++i)
      worker.submit([&] { ++done; });
  }
  EXPECT_EQ(done, 50);
}

TEST(Worker, DestructorLeavesAHungJobBehindAndDropsTheRest) {
  struct Shared {
    std::atomic<bool> release{false};
    std::atomic<bool> late_job_ran{false};
  };
  const auto shared = std::make_shared<Shared>();
  std::optional<Ticket> hung;
  std::optional<Ticket> behind;
  const auto start = Clock::now();
  {
    Worker worker("cpu:6");
    hung = worker.submit([shared] {
      while (!shared->release)
        std::this_thread::sleep_for(1ms);
    });
    behind = worker.submit([shared] { shared->late_job_ran = true; });
  }
  EXPECT_LT(Clock::now() - start, 20s) << "the destructor waited for the hung job";
  EXPECT_THAT(thrown_text<Timeout>([&] { behind->wait(Clock::now() + 10s); }),
              AllOf(HasSubstr("cpu:6"), HasSubstr("dropped")));
  shared->release = true;
  EXPECT_NO_THROW(hung->wait(Clock::now() + 30s));
  EXPECT_FALSE(shared->late_job_ran);
}

TEST(LogicalDevice, StartsOneWorker) {
  LogicalDevice& device = logical_device({DeviceType::cpu, 20});
  Worker* seen[4] = {};
  std::vector<std::thread> threads;
  for (auto& place : seen)
    threads.emplace_back([&] { place = &device.worker(); });
  for (std::thread& t : threads)
    t.join();
  for (Worker* w : seen)
    EXPECT_EQ(w, seen[0]);
}

}  // namespace
}  // namespace tandem
