// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/call/call_runner.hpp"

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>

#include <gmock/gmock.h>

#include "tandem/autograd/row_group.hpp"
#include "tandem/nn/linear.hpp"
#include "tandem/runtime/interrupt.hpp"
#include "tandem/runtime/runtime.hpp"

#include "devices.hpp"

namespace tandem::parallel::test {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

class CallRunnerTest : public ::testing::Test {
 protected:
  CallRunnerTest() : groups_(testing::devices(2), {}) {
    for (int d = 0; d < 2; ++d)
      replicas_.push_back(std::make_unique<DeviceReplica>(d, testing::device(d), module_));
  }
  std::shared_ptr<Call> call(const std::vector<RowRange>& rows = {{0, 2}, {2, 5}}) {
    return std::make_shared<Call>(
        replicas_, rows, groups_.get(rows, ReplicaGroups::Members::active));
  }

  nn::Linear module_{1, 1};
  std::vector<std::unique_ptr<DeviceReplica>> replicas_;
  ReplicaGroups groups_;
};

TEST_F(CallRunnerTest, RunsAJobOnEachDeviceInItsContext) {
  CallRunner runner(testing::devices(2), {.deadline = 10s, .dim = 1});
  std::mutex mutex;
  std::set<int> seen;
  const auto caller = std::this_thread::get_id();
  runner.run(call(), Phase::forward, [&](Call::Part& part) {
    EXPECT_NE(std::this_thread::get_id(), caller);
    EXPECT_EQ(context().rows, part.rows);
    EXPECT_EQ(context().batch_rows, 5);
    EXPECT_EQ(context().row_dim, 1);
    EXPECT_EQ(context().replica, part.index());
    EXPECT_NE(current_row_group(), nullptr);
    const std::scoped_lock lock(mutex);
    seen.insert(part.index());
  });
  EXPECT_EQ(seen, (std::set<int>{0, 1}));
  EXPECT_FALSE(runner.is_running());
}

TEST_F(CallRunnerTest, TheOnlyReplicaRunsOnTheCallersThread) {
  CallRunner runner(testing::devices(2), {.deadline = 10s});
  const auto caller = std::this_thread::get_id();
  runner.run(call({{0, 5}, {5, 5}}), Phase::forward, [&](Call::Part& part) {
    EXPECT_EQ(part.index(), 0);
    EXPECT_EQ(std::this_thread::get_id(), caller);
  });
}

TEST_F(CallRunnerTest, AnInterruptedCallStopsAndTheNextOneWorks) {
  CallRunner runner(testing::devices(2), {.deadline = 10s});
  std::atomic<bool> wants_stop = true;
  const InterruptScope scope([&] { return wants_stop.load(); });
  for (const std::vector<RowRange>& rows :
       {std::vector<RowRange>{{0, 2}, {2, 5}}, std::vector<RowRange>{{0, 5}, {5, 5}}}) {
    wants_stop = true;
    const auto caller = std::this_thread::get_id();
    const auto interrupted = call(rows);
    EXPECT_THROW(runner.run(interrupted,
                            Phase::forward,
                            [&](Call::Part& part) {
                              EXPECT_NE(std::this_thread::get_id(), caller);
                              if (part.index() == 1) part.comm->barrier();
                              const auto until = std::chrono::steady_clock::now() + 5s;
                              while (!context().abort->aborted())
                                ASSERT_LT(std::chrono::steady_clock::now(), until) << "not told";
                              throw CommAborted(context().abort->reason());
                            }),
                 ReplicaError);
    EXPECT_THROW(interrupted->seal(), CommAborted);
    wants_stop = false;
    runner.run(call(rows), Phase::forward, [](Call::Part& part) {
      EXPECT_FALSE(context().abort->aborted()) << part.index();
    });
  }
}

TEST_F(CallRunnerTest, RefusesACallInsideACall) {
  CallRunner runner(testing::devices(2), {.deadline = 10s});
  try {
    runner.run(call({{0, 5}, {5, 5}}), Phase::forward, [&](Call::Part&) {
      EXPECT_TRUE(runner.is_running());
      runner.run(call({{0, 5}, {5, 5}}), Phase::forward, [](Call::Part&) {});
    });
    ADD_FAILURE() << "not refused";
  } catch (const ReplicaError& e) {
    EXPECT_THAT(e.what(), HasSubstr("another call is running"));
  }
}

}  // namespace
}  // namespace tandem::parallel::test
