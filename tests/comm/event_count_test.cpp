// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/processes/event_count.hpp"

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

namespace tandem::comm {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

TEST(EventCountTest, AnEventEndsAWait) {
  EventCount events;
  const auto seen = events.count();
  std::thread other([&] {
    std::this_thread::sleep_for(20ms);
    events.add();
  });
  const auto begin = Clock::now();
  events.wait(seen, 20s);
  EXPECT_LT(Clock::now() - begin, 10s);
  EXPECT_EQ(events.count(), seen + 1);
  other.join();
}

TEST(EventCountTest, AnEventBetweenLookAndWaitIsNotMissed) {
  EventCount events;
  const auto seen = events.count();
  events.add();
  const auto begin = Clock::now();
  events.wait(seen, 20s);
  EXPECT_LT(Clock::now() - begin, 10s);
}

TEST(EventCountTest, AWaitEndsByItself) {
  EventCount events;
  const auto begin = Clock::now();
  events.wait(events.count(), 20ms);
  EXPECT_GE(Clock::now() - begin, 20ms);
}

}  // namespace
}  // namespace tandem::comm
