// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/buffer.hpp"

#include <memory>
#include <string>

#include <gmock/gmock.h>

#include "tandem/runtime/dispatch.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/access.hpp"

#include "thrown_text.hpp"

namespace tandem {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::thrown_text;

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

struct BufferDropTest : ::testing::Test {
  const std::shared_ptr<const std::string> unit = std::make_shared<const std::string>("blocks.3");
  const std::shared_ptr<const ModuleShares> shares = std::make_shared<const ModuleShares>(
      ModuleShares{{"blocks.3.fc", 800}, {"blocks.3.norm", 200}});
  LogicalDevice& device = logical_device(kHost);
  std::size_t in_use(Category category) const {
    return device.memory_stats().by_category[static_cast<std::size_t>(category)];
  }
};

TEST_F(BufferDropTest, GivesTheMemoryBackAndTakesItAgain) {
  const std::size_t before = in_use(Category::parameter);
  Buffer x(kHost, 1000, Category::parameter, shares);
  x.bump_version();
  x.drop(unit);
  EXPECT_TRUE(x.is_dropped());
  EXPECT_EQ(in_use(Category::parameter), before);
  x.wake();
  EXPECT_FALSE(x.is_dropped());
  EXPECT_NE(x.data(), nullptr);
  EXPECT_EQ(in_use(Category::parameter), before + 1000);
  EXPECT_EQ(x.version(), 1u);
  EXPECT_EQ(x.nbytes(), 1000u);
}

TEST_F(BufferDropTest, KeepsTheVersionsOfParts) {
  Buffer x(kHost, 100, Category::parameter);
  x.count_parts({10, 100});
  x.bump_version(0, 5);
  x.drop(unit);
  x.wake();
  EXPECT_THAT(x.part_versions(), ElementsAre(1, 0));
}

TEST_F(BufferDropTest, MovesToAnotherCategoryWithoutMemory) {
  const std::size_t before = in_use(Category::buffer);
  Buffer x(kHost, 1000, Category::parameter);
  x.drop(unit);
  x.recategorise(Category::buffer);
  EXPECT_EQ(in_use(Category::buffer), before);
  x.wake();
  EXPECT_EQ(in_use(Category::buffer), before + 1000);
}

TEST_F(BufferDropTest, WorkOnItNamesTheOwnersAndTheUnit) {
  const auto buffer = std::make_shared<Buffer>(kHost, 1000, Category::parameter, shares);
  Tensor x = from_buffer(buffer, 0, {250}, {1}, DType::f32);
  buffer->drop(unit);
  const auto expected =
      AllOf(HasSubstr("the memory of parameter of 'blocks.3.fc, blocks.3.norm' on cpu:0 has been "
                      "given back with unit 'blocks.3'"),
            HasSubstr("use it where the unit has been gathered"));
  EXPECT_THAT(thrown_text([&] { x.fill_(1); }), AllOf(HasSubstr("fill_: "), expected));
  EXPECT_THAT(thrown_text([&] { x.to_doubles(); }), expected);
  EXPECT_THAT(thrown_text([&] { buffer->drop(unit); }), expected);
  Buffer other(kHost, 1000, Category::activation);
  EXPECT_THAT(thrown_text([&] { copy_bytes(*buffer, 0, other, 0, 8); }), expected);
  EXPECT_THAT(thrown_text([&] { copy_bytes(other, 0, *buffer, 0, 8); }), expected);
  buffer->wake();
  x.fill_(1);
  EXPECT_EQ(x.to_doubles()[249], 1);
}

TEST_F(BufferDropTest, StaysDroppedWhereThereIsNoMemory) {
  Buffer x(kHost, 1000, Category::parameter);
  x.drop(unit);
  device.set_limit(device.memory_stats().in_use + 999);
  EXPECT_THROW(x.wake(), OutOfMemory);
  EXPECT_TRUE(x.is_dropped());
  device.set_limit(SIZE_MAX);
  x.wake();
  EXPECT_FALSE(x.is_dropped());
}

TEST_F(BufferDropTest, WaitsForBytesThatAreOnTheirWay) {
  Buffer x(kHost, 1000, Category::parameter);
  bool waited = false;
  x.transits().add(
      {.begin = 0, .end = 10, .way = Transit::Way::in, .wait = [&] { waited = true; }});
  x.drop(unit);
  EXPECT_TRUE(waited);
}

TEST_F(BufferDropTest, MayGoWhileItIsDropped) {
  const std::size_t before = in_use(Category::parameter);
  {
    Buffer x(kHost, 1000, Category::parameter);
    x.drop(unit);
  }
  EXPECT_EQ(in_use(Category::parameter), before);
}

}  // namespace
}  // namespace tandem
