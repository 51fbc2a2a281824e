// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/upload.hpp"

#include <array>

#include <gmock/gmock.h>

#include "tandem/runtime/context.hpp"
#include "tandem/runtime/dispatch.hpp"

namespace tandem {
namespace {

using Numbers = std::array<std::int32_t, 4>;

TEST(UploadTest, OnTheHostIsACopyInTheContextsCategory) {
  Buffer source({DeviceType::cpu, 0}, sizeof(Numbers), Category::activation);
  const Numbers numbers{1, 2, 3, 4};
  write(&numbers, source, 0, sizeof numbers);
  const ContextScope inputs([](Context& c) { c.category = Category::input; });
  const auto target = upload(source, 4, 8, {DeviceType::cpu, 1});
  const Numbers other{-1, -1, -1, -1};
  write(&other, source, 0, sizeof other);
  EXPECT_EQ(target->device(), (Device{DeviceType::cpu, 1}));
  EXPECT_EQ(target->nbytes(), 8u);
  EXPECT_EQ(target->category(), Category::input);
  std::array<std::int32_t, 2> seen{};
  read(*target, 0, seen.data(), sizeof seen, "test");
  EXPECT_THAT(seen, ::testing::ElementsAre(2, 3));
}

TEST(UploadTest, OfNothingIsEmpty) {
  const Buffer source({DeviceType::cpu, 0}, 4, Category::activation);
  EXPECT_EQ(upload(source, 4, 0, {DeviceType::cpu, 0})->data(), nullptr);
}

}  // namespace
}  // namespace tandem
