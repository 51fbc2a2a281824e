// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/buffer.hpp"

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/runtime/dispatch.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/access.hpp"
#include "tandem/tensor/factories.hpp"

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

TEST_F(BufferDropTest, MayBeginWithoutMemory) {
  const std::size_t before = in_use(Category::parameter);
  Buffer x(kHost, 1000, Category::parameter, shares, unit);
  EXPECT_TRUE(x.is_dropped());
  EXPECT_EQ(in_use(Category::parameter), before);
  EXPECT_THAT([&] { x.check_awake("add"); },
              ThrowsMessage<InvalidArgument>(HasSubstr("with unit 'blocks.3'")));
  x.wake();
  EXPECT_EQ(in_use(Category::parameter), before + 1000);
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

TEST_F(BufferDropTest, IsListedAgainInAnyOrder) {
  const std::size_t before = device.holdings().size();
  {
    Buffer x(kHost, 100, Category::parameter), y(kHost, 200, Category::parameter),
        z(kHost, 300, Category::parameter);
    for (Buffer* buffer : {&y, &x, &z, &y}) {
      buffer->drop(unit);
      EXPECT_EQ(device.holdings().size(), before + 2);
      buffer->wake();
      EXPECT_EQ(device.holdings().size(), before + 3);
    }
    z.drop(unit);
  }
  EXPECT_EQ(device.holdings().size(), before);
}

/// Fills what it is asked for with twos.
class Twos final : public BufferSource {
 public:
  void provide(Buffer& buffer, std::span<const Buffer* const> used) override {
    used_ = used.size();
    buffer.wake();
    const std::vector<float> twos(buffer.nbytes() / sizeof(float), 2);
    write(twos.data(), buffer, 0, buffer.nbytes());
  }
  std::size_t used() const noexcept { return used_; }

 private:
  std::size_t used_ = 0;
};

TEST_F(BufferDropTest, WorkOnItAsksItsSource) {
  const auto source = std::make_shared<Twos>();
  const Tensor x = zeros({8}), y = ones({8});
  x.buffer().set_source(source);
  x.buffer().drop(unit);
  Tensor(y).copy_(x);
  EXPECT_THAT(y.to_host<float>(), ::testing::Each(2));
  EXPECT_EQ(source->used(), 2u) << "the work's input and its result";
  x.buffer().drop(unit);
  EXPECT_THAT(x.to_host<float>(), ::testing::Each(2));
  x.buffer().drop(unit);
  copy_bytes(x.buffer(), 0, y.buffer(), 0, 32);
  EXPECT_EQ(source->used(), 2u);
  x.buffer().drop(unit);
  x.buffer().set_source(nullptr);
  EXPECT_THAT(thrown_text([&] { x.to_host<float>(); }), HasSubstr("given back"));
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

TEST_F(BufferDropTest, IsRefusedForMemoryOfOthers) {
  char bytes[8] = {};
  Buffer adopted(kHost, {.data = bytes, .nbytes = 8}, Category::input);
  EXPECT_THAT(thrown_text([&] { adopted.drop(unit); }),
              HasSubstr("drop: 8 bytes of input on cpu:0 belong to another library"));
  adopted.wake();
  EXPECT_EQ(adopted.data(), bytes);
  Buffer lent(kHost, 8, Category::parameter);
  lent.lend();
  lent.lend();
  lent.end_loan();
  EXPECT_THAT(thrown_text([&] { lent.drop(unit); }),
              HasSubstr("drop: 8 bytes of parameter on cpu:0 are lent to another library"));
  lent.end_loan();
  lent.drop(unit);
  EXPECT_TRUE(lent.is_dropped());
}

TEST(AdoptedBufferTest, GivesTheMemoryBackOnce) {
  int ends = 0;
  char bytes[8] = {};
  const auto end = [&] { ++ends; };
  const MemoryStats before = logical_device(kHost).memory_stats();
  {
    Buffer x(kHost, {.data = bytes, .nbytes = 8, .give_back = end}, Category::input);
    Buffer empty(kHost, {.data = bytes, .nbytes = 0, .give_back = end}, Category::input);
    EXPECT_TRUE(x.is_adopted());
    EXPECT_EQ(x.data(), bytes);
    EXPECT_EQ(empty.data(), nullptr);
    x.recategorise(Category::output);
    EXPECT_EQ(logical_device(kHost).memory_stats().adopted, before.adopted + 8);
    EXPECT_EQ(ends, 0);
  }
  EXPECT_EQ(ends, 2);
  EXPECT_EQ(logical_device(kHost).memory_stats().adopted, before.adopted);
  EXPECT_EQ(logical_device(kHost).memory_stats().by_category, before.by_category);
}

TEST(AdoptedBufferTest, WaitsForTransitsBeforeItGivesTheMemoryBack) {
  struct Hold {
    int& ends;
    ~Hold() { EXPECT_EQ(ends, 0); }
  };
  int ends = 0;
  char bytes[8] = {};
  Buffer x(kHost, {.data = bytes, .nbytes = 8, .give_back = [&] { ++ends; }}, Category::input);
  x.transits().add({.begin = 0,
                    .end = 8,
                    .way = Transit::Way::out,
                    .wait = [hold = std::make_shared<Hold>(ends)] {}});
}

TEST(AdoptedBufferTest, IntegersAreUnknownWhereOthersMayWrite) {
  const IntegerBounds bounds{.least = 1, .greatest = 9, .next_to_least = 2, .next_to_greatest = 8};
  std::int64_t values[2] = {1, 9};
  Buffer adopted(kHost, {.data = values, .nbytes = 16}, Category::input);
  adopted.note_integers(bounds);
  EXPECT_FALSE(adopted.integers());
  Buffer lent(kHost, 16, Category::input);
  lent.note_integers(bounds);
  EXPECT_TRUE(lent.integers());
  lent.lend();
  EXPECT_FALSE(lent.integers());
  lent.end_loan();
  EXPECT_FALSE(lent.integers()) << "the other may have written";
}

TEST(AdoptedBufferTest, ReadOnlyMemoryRefusesWrites) {
  char bytes[8] = {1};
  Buffer x(kHost, {.data = bytes, .nbytes = 8, .is_read_only = true}, Category::input);
  Buffer other(kHost, 8, Category::input);
  const auto expected = HasSubstr(
      "the 8 bytes on cpu:0 that it writes to are lent by another library for reading only");
  EXPECT_THAT(thrown_text([&] { write(bytes, x, 0, 8); }), AllOf(HasSubstr("write: "), expected));
  EXPECT_THAT(thrown_text([&] { copy_bytes(other, 0, x, 0, 8); }),
              AllOf(HasSubstr("copy: "), expected));
  EXPECT_EQ(x.version(), 0u);
  copy_bytes(x, 0, other, 0, 8);
  EXPECT_EQ(static_cast<char*>(other.data())[0], 1);
}

}  // namespace
}  // namespace tandem
