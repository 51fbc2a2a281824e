// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Algorithm native is the library's own: its order of addition shows in the bits.
#include <algorithm>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "tandem/comm/group.hpp"
#include "tandem/tensor/factories.hpp"

#include "world_of_tests.hpp"

namespace tandem::comm::test {
namespace {

constexpr std::int64_t kManyElements = 100'000;  // enough for gloo's ring

/// The sum of 1e8, 1 and -1e8, one a process: 0 if they are added in this order.
std::vector<float> sum_of_three(const char* algorithm) {
  world::World& world = *testing::test_world();
  const std::vector<Device> devices{{DeviceType::cpu, 0}};
  const auto ranks = make_group(
      devices, {.timeout = std::chrono::seconds(20), .algorithm = algorithm, .world = &world});
  const std::vector<float> own{1e8F, 1, -1e8F};
  const Tensor x = full(
      {kManyElements}, own[static_cast<std::size_t>(world.rank())], {.device = devices.front()});
  ranks.front()->all_reduce(x);
  return x.to_host<float>();
}

TEST(NativeTest, AddsInTheOrderOfGloosRing) {
  if (testing::test_world() == nullptr || testing::test_world()->size() != 3)
    GTEST_SKIP() << "it needs three processes";
  const std::vector<float> direct = sum_of_three("direct"), native = sum_of_three("native");
  EXPECT_EQ(std::ranges::count(direct, 0), kManyElements);
  EXPECT_GT(std::ranges::count(native, 1), 0) << "(1e8 - 1e8) + 1, in some parts of the ring";
  EXPECT_EQ(std::ranges::count(native, 0) + std::ranges::count(native, 1), kManyElements);
}

}  // namespace
}  // namespace tandem::comm::test
