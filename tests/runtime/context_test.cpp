// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/context.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tandem/core/error.hpp"
#include "tandem/runtime/runtime.hpp"

#include "thrown_text.hpp"

namespace tandem {
namespace {

using ::testing::HasSubstr;
using testing::thrown_text;

TEST(Context, DefaultsAreThoseOfAProgramOutsideAnyStep) {
  const Context& c = context();
  EXPECT_TRUE(c.grad_enabled);
  EXPECT_EQ(c.phase, Phase::none);
  EXPECT_EQ(c.category, Category::activation);
  EXPECT_EQ(c.threads, core_count());
  EXPECT_EQ(c.rows, RowRange{});
  EXPECT_EQ(current_module_path(), "");
}

TEST(ContextScope, NestsAndRestores) {
  const Context* outside = &context();
  {
    const ContextScope forward([](Context& c) {
      c.phase = Phase::forward;
      c.replica = 2;
    });
    {
      const ContextScope off([](Context& c) { c.grad_enabled = false; });
      EXPECT_FALSE(context().grad_enabled);
      EXPECT_EQ(context().phase, Phase::forward) << "an inner scope keeps what it does not change";
      EXPECT_EQ(context().replica, 2);
    }
    EXPECT_TRUE(context().grad_enabled);
    {
      const ContextScope fresh{std::shared_ptr<const Context>()};
      EXPECT_EQ(context().phase, Phase::none) << "null is the default context";
    }
    EXPECT_EQ(context().phase, Phase::forward);
  }
  EXPECT_EQ(&context(), outside);
}

TEST(ContextScope, RestoresAfterAnException) {
  try {
    const ContextScope scope([](Context& c) { c.phase = Phase::loss; });
    throw 42;
  } catch (int) {
  }
  EXPECT_EQ(context().phase, Phase::none);
}

TEST(Context, AnotherThreadHasItsOwn) {
  const ContextScope scope([](Context& c) { c.phase = Phase::update; });
  Phase there = Phase::update;
  const auto kept = share_context();
  Phase installed = Phase::none;
  std::thread([&] {
    there = context().phase;
    const ContextScope handed(kept);
    installed = context().phase;
  }).join();
  EXPECT_EQ(there, Phase::none);
  EXPECT_EQ(installed, Phase::update);
}

TEST(Context, WorkerRunsInTheSubmittersContext) {
  Worker worker("test");
  const auto token = std::make_shared<AbortToken>();
  const ContextScope scope([&](Context& c) {
    c.grad_enabled = false;
    c.phase = Phase::backward;
    c.replica = 3;
    c.rows = {4, 9};
    c.threads = 5;
    c.module_path = std::make_shared<const std::string>("net.fc");
    c.abort = token;
  });
  Context seen;
  std::string path;
  worker
      .submit([&] {
        seen = context();
        path = current_module_path();
        // What a job installs and leaves is gone for the next one.
      })
      .wait();
  EXPECT_FALSE(seen.grad_enabled);
  EXPECT_EQ(seen.phase, Phase::backward);
  EXPECT_EQ(seen.replica, 3);
  EXPECT_EQ(seen.rows, (RowRange{4, 9}));
  EXPECT_EQ(seen.threads, 5);
  EXPECT_EQ(seen.abort, token);
  EXPECT_EQ(path, "net.fc");

  const ContextScope fresh{std::shared_ptr<const Context>()};
  Phase after = Phase::backward;
  worker.submit([&] { after = context().phase; }).wait();
  EXPECT_EQ(after, Phase::none) << "the job before left its context behind";
}

TEST(AbortToken, IsAlsoSetByAFailureThatIsNotedElsewhere) {
  std::atomic<bool> failed{false};
  AbortToken token([&] { return failed.load(); }, "another node has failed");
  EXPECT_FALSE(token.aborted());
  failed = true;
  EXPECT_TRUE(token.aborted());
  EXPECT_EQ(token.reason(), "another node has failed");
  failed = false;
  EXPECT_FALSE(token.aborted());
  token.abort("replica 1 failed");
  EXPECT_TRUE(token.aborted());
  EXPECT_EQ(token.reason(), "replica 1 failed");
}

TEST(AbortToken, FirstReasonWins) {
  AbortToken token;
  EXPECT_FALSE(token.aborted());
  token.abort("replica 1 failed");
  token.abort("replica 2 failed");
  EXPECT_TRUE(token.aborted());
  EXPECT_EQ(token.reason(), "replica 1 failed");
  token.reset();
  EXPECT_FALSE(token.aborted());
  EXPECT_EQ(token.reason(), "");
}

TEST(CheckAlive, ThrowsByTokenAndDeadline) {
  EXPECT_NO_THROW(check_alive("test"));
  const auto token = std::make_shared<AbortToken>();
  const ContextScope scope([&](Context& c) { c.abort = token; });
  EXPECT_NO_THROW(check_alive("test"));
  token->abort("replica 1 is out of memory");
  const std::string text = thrown_text<CommAborted>([] { check_alive("matmul"); });
  EXPECT_THAT(text, HasSubstr("matmul"));
  EXPECT_THAT(text, HasSubstr("replica 1 is out of memory"));

  const ContextScope late([](Context& c) {
    c.abort = nullptr;
    c.deadline = Deadline(std::chrono::milliseconds(0));
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_THAT(thrown_text<Timeout>([] { check_alive("conv2d"); }), HasSubstr("conv2d"));
}

}  // namespace
}  // namespace tandem
