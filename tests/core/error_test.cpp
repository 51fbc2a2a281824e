// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/core/error.hpp"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>

#include "tandem/core/check.hpp"

namespace tandem {
namespace {

using ::testing::HasSubstr;

struct Outer : Error, std::nested_exception {
  explicit Outer(const std::string& text) : Error(text) {}
};

TEST(ErrorTest, OutOfMemorySaysDeviceFiguresAndOwners) {
  const OutOfMemory e("cpu:1", 100, 950, 1000, {{"activation net.conv1", 600}, {"parameter", 350}});
  EXPECT_THAT(
      e.what(),
      HasSubstr("out of memory on cpu:1: asked for 100 bytes with 950 in use and a limit of 1000"));
  EXPECT_THAT(e.what(), HasSubstr("activation net.conv1 600, parameter 350"));
}

TEST(ErrorTest, FileErrorNamesOffset) {
  const FileError e("a.idx", 4, "rank 255");
  EXPECT_STREQ(e.what(), "a.idx at byte 4: rank 255");
  EXPECT_STREQ(FileError("a.idx", -1, "no such file").what(), "a.idx: no such file");
}

TEST(ErrorTest, FindCauseLooksInsideNestedErrors) {
  try {
    try {
      throw OutOfMemory("cpu:0", 1, 2, 3, {});
    } catch (...) {
      throw Outer("replica 0 failed");
    }
  } catch (const std::exception& e) {
    const auto* cause = find_cause<OutOfMemory>(e);
    ASSERT_NE(cause, nullptr);
    EXPECT_EQ(cause->limit(), 3u);
    EXPECT_EQ(find_cause<NoData>(e), nullptr);
  }
}

TEST(ErrorTest, ForeignTypesAreDescribed) {
  EXPECT_EQ(describe(std::make_exception_ptr(42)), "unknown exception");
  EXPECT_EQ(describe(std::make_exception_ptr(std::logic_error("x"))), "x");
}

TEST(ErrorTest, TextsHaveNanWithoutItsSign) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(detail::concat(std::copysign(nan, -1.0), ' ', std::copysign(nan, 1.0)), "nan nan");
  EXPECT_EQ(detail::concat(std::copysign(static_cast<float>(nan), -1.0F)), "nan");
  EXPECT_EQ(detail::concat(-1.5, ' ', -std::numeric_limits<double>::infinity()), "-1.5 -inf");
}

TEST(ErrorTest, MacrosThrowTheirOwnTypes) {
  EXPECT_THROW(TANDEM_CHECK(1 > 2, "one ", 1, " two ", 2), InvalidArgument);
  EXPECT_THROW(TANDEM_ASSERT(1 > 2, "never"), InternalError);
}

}  // namespace
}  // namespace tandem
