// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/event.hpp"

#include <chrono>
#include <memory>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tandem/core/error.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/runtime/stream.hpp"

#include "thrown_text.hpp"

namespace tandem {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using testing::thrown_text;
using Clock = std::chrono::steady_clock;

TEST(Event, WaitsUntilRecorded) {
  Event event;
  EXPECT_FALSE(event.query());
  int data = 0;
  std::thread writer([&] {
    std::this_thread::sleep_for(20ms);
    data = 7;
    event.record(logical_device({}).stream());
  });
  event.wait("test");
  EXPECT_EQ(data, 7) << "what stood before the record is visible after the wait";
  writer.join();
  EXPECT_TRUE(event.query());
  event.reset();
  EXPECT_FALSE(event.query());
}

TEST(Event, WaitEndsByDeadlineAndByToken) {
  const Event never;
  const auto start = Clock::now();
  {
    const ContextScope scope([&](Context& c) { c.deadline = Deadline(30ms); });
    EXPECT_THAT(thrown_text<Timeout>([&] { never.wait("linear"); }), HasSubstr("linear"));
  }
  EXPECT_GE(Clock::now() - start, 30ms);
  EXPECT_LT(Clock::now() - start, 5s);

  const auto token = std::make_shared<AbortToken>();
  const ContextScope scope([&](Context& c) { c.abort = token; });
  std::thread failing([&] {
    std::this_thread::sleep_for(20ms);
    token->abort("replica 1 failed");
  });
  EXPECT_THAT(thrown_text<CommAborted>([&] { never.wait("linear"); }),
              HasSubstr("replica 1 failed"));
  failing.join();
}

}  // namespace
}  // namespace tandem
