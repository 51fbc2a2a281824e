// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/dropped.hpp"

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/runtime/buffer.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/access.hpp"
#include "tandem/tensor/factories.hpp"

#include "cpu.hpp"
#include "thrown_text.hpp"

namespace tandem {
namespace {

using ::testing::AllOf;
using testing::cpu;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::thrown_text;

struct DroppedTest : ::testing::Test {
  const std::shared_ptr<const std::string> unit = std::make_shared<const std::string>("blocks.3");
  const std::shared_ptr<const ModuleShares> shares = std::make_shared<const ModuleShares>(
      ModuleShares{{"blocks.3.fc", 800}, {"blocks.3.norm", 200}});
  LogicalDevice& device = logical_device(cpu(0));
  std::size_t in_use(Category category) const {
    return device.memory_stats().by_category[static_cast<std::size_t>(category)];
  }
};

TEST_F(DroppedTest, GivesTheMemoryBackAndTakesItAgain) {
  const std::size_t before = in_use(Category::parameter);
  Buffer x(cpu(0), 1000, Category::parameter, shares);
  x.bump_version();
  x.dropped().drop(unit);
  EXPECT_TRUE(x.is_dropped());
  EXPECT_EQ(in_use(Category::parameter), before);
  x.dropped().wake();
  EXPECT_FALSE(x.is_dropped());
  EXPECT_NE(x.data(), nullptr);
  EXPECT_EQ(in_use(Category::parameter), before + 1000);
  EXPECT_EQ(x.version(), 1u);
  EXPECT_EQ(x.nbytes(), 1000u);
}

TEST_F(DroppedTest, MayBeginWithoutMemory) {
  const std::size_t before = in_use(Category::parameter);
  Buffer x(cpu(0), 1000, Category::parameter, shares, unit);
  EXPECT_TRUE(x.is_dropped());
  EXPECT_EQ(in_use(Category::parameter), before);
  EXPECT_THAT([&] { x.check_awake("add"); },
              ThrowsMessage<InvalidArgument>(HasSubstr("with unit 'blocks.3'")));
  x.dropped().wake();
  EXPECT_EQ(in_use(Category::parameter), before + 1000);
}

TEST_F(DroppedTest, KeepsTheVersionsOfParts) {
  Buffer x(cpu(0), 100, Category::parameter);
  x.count_parts({10, 100});
  x.bump_version(0, 5);
  x.dropped().drop(unit);
  x.dropped().wake();
  EXPECT_THAT(x.part_versions(), ElementsAre(1, 0));
}

TEST_F(DroppedTest, MovesToAnotherCategoryWithoutMemory) {
  const std::size_t before = in_use(Category::buffer);
  Buffer x(cpu(0), 1000, Category::parameter);
  x.dropped().drop(unit);
  x.recategorise(Category::buffer);
  EXPECT_EQ(in_use(Category::buffer), before);
  x.dropped().wake();
  EXPECT_EQ(in_use(Category::buffer), before + 1000);
}

TEST_F(DroppedTest, IsListedAgainInAnyOrder) {
  const std::size_t before = device.holdings().size();
  {
    Buffer x(cpu(0), 100, Category::parameter), y(cpu(0), 200, Category::parameter),
        z(cpu(0), 300, Category::parameter);
    for (Buffer* buffer : {&y, &x, &z, &y}) {
      buffer->dropped().drop(unit);
      EXPECT_EQ(device.holdings().size(), before + 2);
      buffer->dropped().wake();
      EXPECT_EQ(device.holdings().size(), before + 3);
    }
    z.dropped().drop(unit);
  }
  EXPECT_EQ(device.holdings().size(), before);
}

/// Fills what it is asked for with twos.
class Twos final : public BufferSource {
 public:
  void provide(Buffer& buffer, std::span<const Buffer* const> used) override {
    used_ = used.size();
    buffer.dropped().wake();
    const std::vector<float> twos(buffer.nbytes() / sizeof(float), 2);
    write(twos.data(), buffer, 0, buffer.nbytes());
  }
  std::size_t used() const noexcept { return used_; }

 private:
  std::size_t used_ = 0;
};

TEST_F(DroppedTest, WorkOnItAsksItsSource) {
  const auto source = std::make_shared<Twos>();
  const Tensor x = zeros({8}), y = ones({8});
  x.buffer().dropped().set_source(source);
  x.buffer().dropped().drop(unit);
  Tensor(y).copy_(x);
  EXPECT_THAT(y.to_host<float>(), ::testing::Each(2));
  EXPECT_EQ(source->used(), 2u) << "the work's input and its result";
  x.buffer().dropped().drop(unit);
  EXPECT_THAT(x.to_host<float>(), ::testing::Each(2));
  x.buffer().dropped().drop(unit);
  copy_bytes(x.buffer(), 0, y.buffer(), 0, 32);
  EXPECT_EQ(source->used(), 2u);
  x.buffer().dropped().drop(unit);
  x.buffer().dropped().set_source(nullptr);
  EXPECT_THAT(thrown_text([&] { x.to_host<float>(); }), HasSubstr("given back"));
}

TEST_F(DroppedTest, WorkOnItNamesTheOwnersAndTheUnit) {
  const auto buffer = std::make_shared<Buffer>(cpu(0), 1000, Category::parameter, shares);
  Tensor x = from_buffer(buffer, 0, {250}, {1}, DType::f32);
  buffer->dropped().drop(unit);
  const auto expected =
      AllOf(HasSubstr("the memory of parameter of 'blocks.3.fc, blocks.3.norm' on cpu:0 has been "
                      "given back with unit 'blocks.3'"),
            HasSubstr("use it where the unit has been gathered"));
  EXPECT_THAT(thrown_text([&] { x.fill_(1); }), AllOf(HasSubstr("fill_: "), expected));
  EXPECT_THAT(thrown_text([&] { x.to_doubles(); }), expected);
  EXPECT_THAT(thrown_text([&] { buffer->dropped().drop(unit); }), expected);
  Buffer other(cpu(0), 1000, Category::activation);
  EXPECT_THAT(thrown_text([&] { copy_bytes(*buffer, 0, other, 0, 8); }), expected);
  EXPECT_THAT(thrown_text([&] { copy_bytes(other, 0, *buffer, 0, 8); }), expected);
  buffer->dropped().wake();
  x.fill_(1);
  EXPECT_EQ(x.to_doubles()[249], 1);
}

TEST_F(DroppedTest, StaysDroppedWhereThereIsNoMemory) {
  Buffer x(cpu(0), 1000, Category::parameter);
  x.dropped().drop(unit);
  device.set_limit(device.memory_stats().in_use + 999);
  EXPECT_THROW(x.dropped().wake(), OutOfMemory);
  EXPECT_TRUE(x.is_dropped());
  device.set_limit(SIZE_MAX);
  x.dropped().wake();
  EXPECT_FALSE(x.is_dropped());
}

TEST_F(DroppedTest, WaitsForBytesThatAreOnTheirWay) {
  Buffer x(cpu(0), 1000, Category::parameter);
  bool waited = false;
  x.transits().add(
      {.begin = 0, .end = 10, .way = Transit::Way::in, .wait = [&] { waited = true; }});
  x.dropped().drop(unit);
  EXPECT_TRUE(waited);
}

TEST_F(DroppedTest, MayGoWhileItIsDropped) {
  const std::size_t before = in_use(Category::parameter);
  {
    Buffer x(cpu(0), 1000, Category::parameter);
    x.dropped().drop(unit);
  }
  EXPECT_EQ(in_use(Category::parameter), before);
}

TEST_F(DroppedTest, IsRefusedForMemoryOfOthers) {
  char bytes[8] = {};
  Buffer adopted(cpu(0), {.data = bytes, .nbytes = 8}, Category::input);
  EXPECT_THAT(thrown_text([&] { adopted.dropped().drop(unit); }),
              HasSubstr("drop: 8 bytes of input on cpu:0 belong to another library"));
  adopted.dropped().wake();
  EXPECT_EQ(adopted.data(), bytes);
  Buffer lent(cpu(0), 8, Category::parameter);
  lent.lending().lend();
  lent.lending().lend();
  lent.lending().end_loan();
  EXPECT_THAT(thrown_text([&] { lent.dropped().drop(unit); }),
              HasSubstr("drop: 8 bytes of parameter on cpu:0 are lent to another library"));
  lent.lending().end_loan();
  lent.dropped().drop(unit);
  EXPECT_TRUE(lent.is_dropped());
}

}  // namespace
}  // namespace tandem
