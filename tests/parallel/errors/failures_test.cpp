// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/errors/failures.hpp"

#include <stdexcept>

#include <gmock/gmock.h>

#include "tandem/core/error.hpp"

namespace tandem::parallel::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::exception_ptr kCause = std::make_exception_ptr(std::runtime_error("the user's own"));
const std::exception_ptr kAborted = std::make_exception_ptr(CommAborted("another rank failed"));

TEST(FailuresTest, AnAbortOnlyReportsThatAnotherDeviceFailed) {
  EXPECT_TRUE(is_secondary(kAborted));
  EXPECT_FALSE(is_secondary(kCause));
}

TEST(FailuresTest, ACauseGoesBeforeErrorsThatOnlyReportIt) {
  EXPECT_EQ(cause_among({nullptr, kAborted, kCause, kCause}), 2);
  EXPECT_EQ(cause_among({kCause, kAborted}), 0);
}

TEST(FailuresTest, WithoutACauseItIsTheFirst) {
  EXPECT_EQ(cause_among({nullptr, kAborted, kAborted}), 1);
}

TEST(FailuresTest, TellsWhatHasFailed) {
  EXPECT_THAT(failed_among({nullptr, kAborted, nullptr, kCause}), ElementsAre(1, 3));
  EXPECT_THAT(failed_among({nullptr, nullptr}), IsEmpty());
}

TEST(FailuresTest, OtherCausesAreWithoutTheFirstAndWithoutErrorsThatOnlyReportIt) {
  EXPECT_THAT(other_causes({kCause, nullptr, kAborted, kCause}, 0), ElementsAre(3));
  EXPECT_THAT(other_causes({nullptr, kAborted, kAborted}, 1), IsEmpty());
}

TEST(FailuresTest, ToldOnceForAllThatHaveTheSame) {
  EXPECT_EQ(also({"cpu:1: x: y", "cpu:2: z", "cpu:3: x: y", "cpu:4: z", "cpu:5: w"}, "z"),
            "\n  also cpu:1, cpu:3: x: y\n  also cpu:2, cpu:4: the same\n  also cpu:5: w");
  EXPECT_EQ(also({}, "z"), "");
}

}  // namespace
}  // namespace tandem::parallel::test
