// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Run by CTest with TANDEM_DEVICES and TANDEM_THREADS set: good values for EnvironmentTest.*, one
// bad value for each of BadEnvironment.*.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tandem/core/error.hpp"
#include "tandem/runtime/buffer.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/runtime.hpp"

#include "runtime/cpu.hpp"
#include "thrown_text.hpp"

namespace tandem {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::thrown_text;

TEST(EnvironmentTest, SetsDevicesLimitsAndThreads) {
  EXPECT_THAT(default_devices(), ElementsAre(testing::cpu(0), testing::cpu(1), testing::cpu(2)));
  EXPECT_EQ(logical_device(testing::cpu(2)).limit(), std::size_t{64} << 10);
  EXPECT_THROW(Buffer(testing::cpu(2), (std::size_t{64} << 10) + 1, Category::input), OutOfMemory);
  EXPECT_EQ(logical_device(testing::cpu(3)).limit(), SIZE_MAX);
  EXPECT_EQ(core_count(), 6);
  EXPECT_EQ(context().threads, 6);
}

TEST(EnvironmentTest, MakesDevicesShapeOnly) {
  EXPECT_THAT(default_devices(), ElementsAre(testing::cpu(0), testing::cpu(1)));
  EXPECT_EQ(logical_device(testing::cpu(1)).limit(), std::size_t{64} << 10);
  EXPECT_FALSE(Buffer(testing::cpu(1), 64, Category::input).has_data());
  EXPECT_TRUE(Buffer(testing::cpu(2), 64, Category::input).has_data());
}

TEST(BadEnvironment, DevicesAreNamedAtFirstUse) {
  const auto use = [] { Buffer(testing::cpu(0), 8, Category::input); };
  for (int i = 0; i < 2; ++i) {  // the second time too
    EXPECT_THAT(thrown_text(use), AllOf(HasSubstr("TANDEM_DEVICES: "), HasSubstr("'cpu:x'")));
  }
}

TEST(BadEnvironment, ThreadsAreNamedAtFirstUse) {
  EXPECT_THAT(thrown_text([] { default_devices(); }),
              AllOf(HasSubstr("TANDEM_THREADS"), HasSubstr("'0'")));
}

}  // namespace
}  // namespace tandem
