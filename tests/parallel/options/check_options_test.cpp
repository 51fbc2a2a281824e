// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/options/check_options.hpp"

#include <string>

#include <gmock/gmock.h>

#include "devices.hpp"
#include "thrown_text.hpp"

namespace tandem::parallel::test {
namespace {

using tandem::testing::thrown_text;
using ::testing::AllOf;
using testing::device;
using testing::devices;
using ::testing::HasSubstr;

std::string refusal_of(const DataParallelOptions& options) {
  return thrown_text([&] { checked(devices(2), options); });
}

TEST(CheckOptionsTest, GivesBackTheDevicesInTheirOrder) {
  const std::vector<Device> list{device(1), device(0)};
  EXPECT_EQ(checked(list, {}), list);
}

TEST(CheckOptionsTest, NumbersOutOfRangeAreNamedWithTheirValues) {
  EXPECT_THAT(refusal_of({.accumulate = 0}),
              AllOf(HasSubstr("accumulate is 0"), HasSubstr("one micro-batch or more")));
  EXPECT_THAT(refusal_of({.bitwise_leaves = -2}),
              AllOf(HasSubstr("bitwise_leaves is -2"), HasSubstr("0 (off)")));
  EXPECT_THAT(refusal_of({.checks = {.drift_every = -1}}),
              AllOf(HasSubstr("drift_every is -1"), HasSubstr("or 0 for never")));
  EXPECT_THAT(refusal_of({.checks = {.straggler_ratio = 0.5}}),
              AllOf(HasSubstr("straggler_ratio is 0.5"), HasSubstr("give 1 or more")));
}

TEST(CheckOptionsTest, LeavesAndPlansByMemoryContradictEachOther) {
  EXPECT_THAT(refusal_of({.chunks = ChunkPolicy::planned(), .bitwise_leaves = 4}),
              HasSubstr("leave out planned chunks and on_oom = replan"));
  EXPECT_THAT(refusal_of({.on_oom = OnOutOfMemory::replan, .bitwise_leaves = 4}),
              HasSubstr("leave out planned chunks and on_oom = replan"));
  EXPECT_NO_THROW(checked(devices(2), {.on_oom = OnOutOfMemory::replan}));
}

TEST(CheckOptionsTest, OnlyOneWayToDivideTheRowsIsTaken) {
  EXPECT_THAT(refusal_of({.chunk_sizes = {1, 2}, .gpu0_bsz = 1}),
              HasSubstr("give only one of chunks, chunk_sizes and gpu0_bsz, not 2"));
}

TEST(CheckOptionsTest, APolicyForOtherDevicesIsRefused) {
  EXPECT_THAT(refusal_of({.chunk_sizes = {1, 2, 3}}), HasSubstr("3 sizes for 2 devices"));
}

TEST(CheckOptionsTest, ADeviceThatIsListedTwiceIsNamed) {
  const std::string text = thrown_text([] { checked({device(0), device(1), device(0)}, {}); });
  EXPECT_THAT(text, HasSubstr(testing::device_name(0) + " is listed twice"));
}

}  // namespace
}  // namespace tandem::parallel::test
