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
using testing::devices;
using ::testing::HasSubstr;

std::string refusal_of(const DataParallelOptions& options) {
  return thrown_text([&] { checked(devices(2), options); });
}

TEST(CheckOptionsTest, NumbersOutOfRangeAreNamedWithTheirValues) {
  EXPECT_THAT(refusal_of({.bitwise_leaves = -2}),
              AllOf(HasSubstr("bitwise_leaves is -2"), HasSubstr("0 (off)")));
  EXPECT_THAT(refusal_of({.checks = {.drift_every = -1}}),
              AllOf(HasSubstr("drift_every is -1"), HasSubstr("or 0 for never")));
  EXPECT_THAT(refusal_of({.checks = {.straggler_ratio = 0.5}}),
              AllOf(HasSubstr("straggler_ratio is 0.5"), HasSubstr("give 1 or more")));
}

}  // namespace
}  // namespace tandem::parallel::test
