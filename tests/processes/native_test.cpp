// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Algorithm native is the library's own: its order of addition shows in the bits.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tandem/comm/group.hpp"
#include "tandem/tensor/factories.hpp"

#include "world_of_tests.hpp"

namespace tandem::comm::test {
namespace {

constexpr std::int64_t kManyElements = 100'000;  // enough for gloo's ring

/// A communicator of one rank in each process.
std::unique_ptr<Communicator> one_rank(const char* algorithm) {
  const std::vector<Device> devices{{DeviceType::cpu, 0}};
  auto ranks = make_group(devices,
                          {.timeout = std::chrono::seconds(20),
                           .algorithm = algorithm,
                           .world = testing::test_world()});
  return std::move(ranks.front());
}

/// 1e8, 1 or -1e8, one a process, whose sum is 0 if they are added in this order.
Tensor summand(const Communicator& rank) {
  const std::vector<float> own{1e8F, 1, -1e8F};
  return full(
      {kManyElements}, own[static_cast<std::size_t>(rank.rank())], {.device = rank.device()});
}

bool is_three() {
  return testing::test_world() != nullptr && testing::test_world()->size() == 3;
}

void expect_a_rings_order(const std::vector<float>& sums) {
  EXPECT_GT(std::ranges::count(sums, 1), 0) << "(1e8 - 1e8) + 1, in some parts of the ring";
  EXPECT_EQ(std::ranges::count(sums, 0) + std::ranges::count(sums, 1), kManyElements);
}

TEST(NativeTest, AddsInTheOrderOfGloosRing) {
  if (!is_three()) GTEST_SKIP() << "it needs three processes";
  const auto direct = one_rank("direct"), native = one_rank("native");
  const Tensor x = summand(*direct), y = summand(*native);
  direct->all_reduce(x);
  native->all_reduce(y);
  EXPECT_EQ(std::ranges::count(x.to_host<float>(), 0), kManyElements);
  expect_a_rings_order(y.to_host<float>());
}

// gloo works in the outputs of all processes; those that are not the root have none.
TEST(NativeTest, ReducesInTheOrderOfGloosRingAndLeavesTheInputs) {
  if (!is_three()) GTEST_SKIP() << "it needs three processes";
  const auto native = one_rank("native");
  for (const int root : {0, 2}) {
    const Tensor x = summand(*native), before = summand(*native);
    native->reduce(x, ReduceOp::sum, root);
    if (native->rank() == root)
      expect_a_rings_order(x.to_host<float>());
    else
      EXPECT_EQ(x.to_host<float>(), before.to_host<float>());
  }
}

// comm/backend.hpp: minima and maxima of floats are NaN if any rank has a NaN.
TEST(NativeTest, NaNWinsInMinAndMaxOfEachAlgorithm) {
  if (testing::test_world() == nullptr) GTEST_SKIP() << "it needs several processes";
  for (const char* algorithm : {"native", "direct", "ring", "butterfly"}) {
    if (algorithm == std::string("butterfly") && is_three()) continue;
    const auto rank = one_rank(algorithm);
    for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16})
      for (const ReduceOp op : {ReduceOp::min, ReduceOp::max})
        for (int where = 0; where < rank->size(); ++where) {
          SCOPED_TRACE(std::string(algorithm) + ' ' + name(op) + ' ' + name(dtype));
          const double own = rank->rank() == where ? NAN : 1.0 + rank->rank();
          const Tensor all = full({3}, own, {.dtype = dtype, .device = rank->device()});
          const Tensor one = all.clone();
          rank->all_reduce(all, op);
          EXPECT_TRUE(std::isnan(all.to_doubles()[1])) << "NaN on rank " << where;
          rank->reduce(one, op, 0);
          if (rank->rank() == 0) {
            EXPECT_TRUE(std::isnan(one.to_doubles()[2])) << "NaN on rank " << where;
          }
        }
  }
}

}  // namespace
}  // namespace tandem::comm::test
