// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/call/call_gate.hpp"

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include <gmock/gmock.h>

#include "parallel/engine.hpp"
#include "thrown_text.hpp"

namespace tandem::parallel::test {
namespace {

using tandem::testing::thrown_text;
using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

class CallGateTest : public ::testing::Test {
 protected:
  std::shared_ptr<Call> call() { return replicated_.make_call({{0, 1}, {1, 2}}); }

  void enter() { const CallGate::Pass pass(gate_); }

  TestReplicas replicated_{2};
  CallGate gate_;
};

TEST_F(CallGateTest, AdmitsOneCallAtATime) {
  {
    const CallGate::Pass pass(gate_);
    EXPECT_THAT(thrown_text([this] { enter(); }),
                HasSubstr("another call is running; use one thread at a time"));
    EXPECT_THROW(enter(), InvalidArgument) << "the refused one did not free it";
  }
  EXPECT_NO_THROW(enter());
}

TEST_F(CallGateTest, CancelEndsACallThatIsShownLater) {
  CallGate::Pass pass(gate_);
  gate_.cancel();  // waits in vain for the pass
  const auto late = call();
  pass.show(late);
  EXPECT_THROW(late->seal(), CommAborted);
}

TEST_F(CallGateTest, CancelLeavesACallThatAllHaveAgreedTo) {
  const auto agreed = call();
  agreed->seal();
  std::optional<CallGate::Pass> pass(gate_);
  pass->show(agreed);
  std::thread canceller([this] { gate_.cancel(); });
  std::thread other([&] { EXPECT_NO_THROW(agreed->part(1).comm->barrier()); });
  EXPECT_NO_THROW(agreed->part(0).comm->barrier());
  other.join();
  pass.reset();
  canceller.join();
  EXPECT_NO_THROW(agreed->seal());
}

TEST_F(CallGateTest, CancelOfNothingReturnsAtOnceAndTheNextCallIsNotCancelled) {
  const auto begin = Clock::now();
  gate_.cancel();
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(1));
  CallGate::Pass pass(gate_);
  const auto next = call();
  pass.show(next);
  EXPECT_NO_THROW(next->seal());
}

TEST_F(CallGateTest, CancelWaitsForTheCallToEnd) {
  std::optional<CallGate::Pass> pass(gate_);
  std::atomic<bool> ended{false};
  std::thread ends([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ended = true;
    pass.reset();
  });
  gate_.cancel();
  EXPECT_TRUE(ended);
  ends.join();
}

}  // namespace
}  // namespace tandem::parallel::test
