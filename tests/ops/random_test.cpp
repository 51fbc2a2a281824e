// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>

#include "tandem/runtime/context.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"

namespace tandem {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::Ge;
using ::testing::Lt;

/// Random123's known answer of philox4x32-10: key 0, counter 0.
TEST(RandomTest, IsPhilox) {
  constexpr std::uint32_t kWords[] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
  manual_seed(0);
  const std::vector<float> single = rand({4}).to_host<float>();
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(single[i], static_cast<float>(kWords[i] >> 8) * 0x1p-24f) << i;
  manual_seed(0);
  const std::uint64_t wide = static_cast<std::uint64_t>(kWords[1]) << 32 | kWords[0];
  EXPECT_EQ(rand({1}, {.dtype = DType::f64}).item(), static_cast<double>(wide >> 11) * 0x1p-53);
  manual_seed(0);
  EXPECT_EQ(randint(10, 17, {1}).item(), 10 + static_cast<double>(wide % 7));
}

TEST(RandomTest, DoesNotDependOnSizeOrThreads) {
  manual_seed(3);
  const std::vector<float> many = randn({100'003}).to_host<float>();
  manual_seed(3);
  const std::vector<float> few = randn({7}).to_host<float>();
  EXPECT_EQ(few, std::vector<float>(many.begin(), many.begin() + 7));
  manual_seed(3);
  const ContextScope scope([](Context& c) { c.threads = 3; });
  EXPECT_EQ(randn({100'003}).to_host<float>(), many);
}

TEST(RandomTest, IsTheSameTensorInEveryFormat) {
  const Shape shape{2, 3, 5, 7};
  const auto check = [&](auto make) {
    manual_seed(3);
    const Tensor rows = make(MemoryFormat::contiguous);
    manual_seed(3);
    const Tensor last = make(MemoryFormat::channels_last);
    EXPECT_TRUE(rows.is_contiguous());
    EXPECT_TRUE(last.is_contiguous(MemoryFormat::channels_last));
    EXPECT_EQ(last.to_doubles(), rows.to_doubles());
  };
  for (const DType t : {DType::f32, DType::f64}) {
    check([&](MemoryFormat f) { return rand(shape, {.dtype = t, .format = f}); });
    check([&](MemoryFormat f) { return randn(shape, {.dtype = t, .format = f}); });
    check([&](MemoryFormat f) { return full(shape, 3, {.dtype = t, .format = f}); });
  }
  check([&](MemoryFormat f) { return randint(-9, 9, shape, {.dtype = DType::i64, .format = f}); });
}

TEST(RandomTest, StaysInItsRange) {
  EXPECT_THAT(rand({10'001}).to_doubles(), Each(AllOf(Ge(0.0), Lt(1.0))));
  EXPECT_THAT(randint(-3, 2, {10'001}).to_doubles(), Each(AllOf(Ge(-3.0), Lt(2.0))));
  EXPECT_THAT(randint(0, 256, {1000}, {.dtype = DType::u8}).to_doubles(),
              ::testing::Contains(Ge(200.0)));
}

}  // namespace
}  // namespace tandem
