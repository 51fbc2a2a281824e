// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/buffer.hpp"

#include <vector>

#include <gmock/gmock.h>

#include "tandem/runtime/runtime.hpp"

namespace tandem {
namespace {

using ::testing::ElementsAre;

const Device kHost{DeviceType::cpu, 0};

TEST(BufferVersionTest, WithoutPartsAllBytesHaveOneVersion) {
  Buffer x(kHost, 100, Category::parameter);
  x.bump_version(0, 10);
  EXPECT_EQ(x.version(), 1u);
  EXPECT_EQ(x.version(50, 60), 1u);
}

TEST(BufferIntegersTest, AreKnownUntilTheNextWrite) {
  Buffer x(kHost, 16, Category::input);
  EXPECT_FALSE(x.integers());
  x.bump_version();
  x.note_integers({.least = 1, .greatest = 9, .next_to_least = 2, .next_to_greatest = 8});
  ASSERT_TRUE(x.integers());
  EXPECT_EQ(x.integers()->greatest, 9);
  x.bump_version(0, 8);
  EXPECT_FALSE(x.integers());
}

TEST(BufferVersionTest, AWriteCountsForThePartsThatItTouches) {
  Buffer x(kHost, 100, Category::parameter);
  x.count_parts({10, 40, 40, 100});  // one part is empty
  x.bump_version(10, 40);
  EXPECT_THAT(x.part_versions(), ElementsAre(0, 1, 0, 0));
  x.bump_version(9, 41);
  EXPECT_EQ(x.version(0, 10), 1u);
  EXPECT_EQ(x.version(10, 40), 2u);
  EXPECT_EQ(x.version(40, 100), 1u);
  x.bump_version(99, 100);
  EXPECT_EQ(x.version(40, 41), 2u);
  x.bump_version(20, 20);  // no byte
  EXPECT_EQ(x.version(10, 40), 2u);
  x.bump_version();
  EXPECT_EQ(x.version(0, 10), 2u);
  EXPECT_EQ(x.version(10, 40), 3u);
  EXPECT_EQ(x.version(), 5u);
}

TEST(BufferVersionTest, APartTakesOverAVersion) {
  Buffer x(kHost, 100, Category::parameter);
  x.count_parts({50, 100});
  x.bump_version();
  x.bump_version();
  x.set_version(0, 1);  // older than the buffer's own writes
  EXPECT_EQ(x.version(0, 50), 1u);
  EXPECT_EQ(x.version(50, 100), 2u);
  x.bump_version(0, 100);
  EXPECT_EQ(x.version(0, 50), 2u);
  x.set_part_versions({7, 8});
  EXPECT_THAT(x.part_versions(), ElementsAre(7, 8));
  EXPECT_EQ(x.version(), 3u) << "of all writes";
}

}  // namespace
}  // namespace tandem
