// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/deadline.hpp"

#include <thread>

#include <gmock/gmock.h>

#include "tandem/runtime/runtime.hpp"

namespace tandem {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr Device kOne{DeviceType::cpu, 40}, kOther{DeviceType::cpu, 41};

TEST(Deadline, NeverPassesWhereThereIsNone) {
  EXPECT_FALSE(Deadline().passed());
  EXPECT_EQ(Deadline().describe(), "");
}

TEST(Deadline, PassesWhenNoDeviceWorks) {
  const Deadline deadline(30ms, {kOne, kOther});
  EXPECT_FALSE(deadline.passed());
  std::this_thread::sleep_for(60ms);
  EXPECT_TRUE(deadline.passed());
}

TEST(Deadline, IsPutOffByEachPieceOfWorkOnAnyDevice) {
  const Deadline deadline(60ms, {kOne, kOther});
  for (int i = 0; i < 10; ++i) {
    std::this_thread::sleep_for(20ms);
    logical_device(kOther).note_work("linear");
    ASSERT_FALSE(deadline.passed()) << i;
  }
  EXPECT_THAT(deadline.describe(), HasSubstr("cpu:41 has been in or after 'linear'"));
  EXPECT_THAT(deadline.describe(), HasSubstr("cpu:40 has been in or after 'none'"));
}

TEST(Deadline, WithoutDevicesCountsFromTheStart) {
  const Deadline deadline(30ms);
  logical_device(kOne).note_work("linear");
  std::this_thread::sleep_for(40ms);
  EXPECT_TRUE(deadline.passed());
}

TEST(Deadline, OfAnOuterCallEndsTheInnerOne) {
  const Deadline outer(20ms, {kOne});
  const Deadline inner = Deadline(10s, {kOne}).within(outer);
  EXPECT_FALSE(inner.passed());
  std::this_thread::sleep_for(40ms);
  EXPECT_TRUE(inner.passed());
  EXPECT_TRUE(Deadline().within(outer).passed());
}

TEST(Deadline, OfALongTimeIsCut) {
  EXPECT_FALSE(Deadline(std::chrono::milliseconds::max()).passed());
}

}  // namespace
}  // namespace tandem
