// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/lending.hpp"

#include <cstdint>
#include <memory>

#include <gmock/gmock.h>

#include "tandem/runtime/buffer.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/runtime/runtime.hpp"

#include "cpu.hpp"
#include "thrown_text.hpp"

namespace tandem {
namespace {

using ::testing::AllOf;
using testing::cpu;
using ::testing::HasSubstr;
using testing::thrown_text;

TEST(LendingTest, GivesTheMemoryBackOnce) {
  int ends = 0;
  char bytes[8] = {};
  const auto end = [&] { ++ends; };
  const MemoryStats before = logical_device(cpu(0)).memory_stats();
  {
    Buffer x(cpu(0), {.data = bytes, .nbytes = 8, .give_back = end}, Category::input);
    Buffer empty(cpu(0), {.data = bytes, .nbytes = 0, .give_back = end}, Category::input);
    EXPECT_TRUE(x.lending().is_adopted());
    EXPECT_EQ(x.data(), bytes);
    EXPECT_EQ(empty.data(), nullptr);
    x.recategorise(Category::output);
    EXPECT_EQ(logical_device(cpu(0)).memory_stats().adopted, before.adopted + 8);
    EXPECT_EQ(ends, 0);
  }
  EXPECT_EQ(ends, 2);
  EXPECT_EQ(logical_device(cpu(0)).memory_stats().adopted, before.adopted);
  EXPECT_EQ(logical_device(cpu(0)).memory_stats().by_category, before.by_category);
}

TEST(LendingTest, WaitsForTransitsBeforeItGivesTheMemoryBack) {
  struct Hold {
    int& ends;
    ~Hold() { EXPECT_EQ(ends, 0); }
  };
  int ends = 0;
  char bytes[8] = {};
  Buffer x(cpu(0), {.data = bytes, .nbytes = 8, .give_back = [&] { ++ends; }}, Category::input);
  x.transits().add({.begin = 0,
                    .end = 8,
                    .way = Transit::Way::out,
                    .wait = [hold = std::make_shared<Hold>(ends)] {}});
}

TEST(LendingTest, IntegersAreUnknownWhereOthersMayWrite) {
  const IntegerBounds bounds{.least = 1, .greatest = 9, .next_to_least = 2, .next_to_greatest = 8};
  std::int64_t values[2] = {1, 9};
  Buffer adopted(cpu(0), {.data = values, .nbytes = 16}, Category::input);
  adopted.note_integers(bounds);
  EXPECT_FALSE(adopted.integers());
  Buffer lent(cpu(0), 16, Category::input);
  lent.note_integers(bounds);
  EXPECT_TRUE(lent.integers());
  lent.lending().lend();
  EXPECT_FALSE(lent.integers());
  lent.lending().end_loan();
  EXPECT_FALSE(lent.integers()) << "the other may have written";
}

TEST(LendingTest, ReadOnlyMemoryRefusesWrites) {
  char bytes[8] = {1};
  Buffer x(cpu(0), {.data = bytes, .nbytes = 8, .is_read_only = true}, Category::input);
  Buffer other(cpu(0), 8, Category::input);
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
