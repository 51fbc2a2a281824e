// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <limits>

#include <gmock/gmock.h>

#include "tandem/tensor/factories.hpp"

#include "comm/run_ranks.hpp"

// What is summed at the edges of a type: 16-bit floats in f32, rounded once at the end.
namespace tandem::comm {
namespace {

using ::testing::Each;
using testing::run_ranks;

/// What all ranks have after the sum of one value of each.
std::vector<double> sum_of(const std::vector<double>& values, DType dtype) {
  constexpr std::int64_t kCount = 300;
  std::vector<std::vector<double>> results(values.size());
  run_ranks(static_cast<int>(values.size()), [&](Communicator& comm) {
    const auto r = static_cast<std::size_t>(comm.rank());
    const Tensor x = full({kCount}, values[r], {.dtype = dtype, .device = comm.device()});
    comm.all_reduce(x);
    results[r] = x.to_doubles();
  });
  for (const auto& result : results)
    EXPECT_THAT(result, Each(results[0][0]));
  return results[0];
}

double total(const std::vector<double>& values, DType dtype) {
  return sum_of(values, dtype).front();
}

TEST(Accumulation, HalvesMayPassTheirRangeOnTheWay) {
  if (testing::test_world() != nullptr) GTEST_SKIP() << testing::kOneProcess;
  EXPECT_EQ(total({60000, 60000, -60000, -49984}, DType::f16), 10016);
  EXPECT_EQ(total({60000, 60000, 0, 0}, DType::f16), std::numeric_limits<double>::infinity());
  EXPECT_EQ(total({2048, 1, 1, 1}, DType::f16), 2052) << "2051, which f16 rounds to even";
}

TEST(Accumulation, BrainFloatsAreRoundedOnce) {
  if (testing::test_world() != nullptr) GTEST_SKIP() << testing::kOneProcess;
  EXPECT_EQ(total({256, 1, 1, 1}, DType::bf16), 260) << "259; rounded after each it would stay 256";
  const double big = std::ldexp(1.0, 127);
  EXPECT_EQ(total({big, -big, big, -big}, DType::bf16), 0);
}

TEST(Accumulation, ZerosAndTheSmallestNumbersStay) {
  if (testing::test_world() != nullptr) GTEST_SKIP() << testing::kOneProcess;
  const double smallest = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(total({0, 0, 0, 0}, DType::f32), 0);
  EXPECT_EQ(total({smallest, smallest, 0, 0}, DType::f32), 2 * smallest);
  EXPECT_EQ(total({std::ldexp(1.0, -24), 0, 0, 0}, DType::f16), std::ldexp(1.0, -24));
}

TEST(Accumulation, SumsOf1e38StayFiniteWhileTheyCan) {
  if (testing::test_world() != nullptr) GTEST_SKIP() << testing::kOneProcess;
  const auto f = [](double x) { return static_cast<double>(static_cast<float>(x)); };
  EXPECT_EQ(total({1e38, 1e38, 1e38, 0}, DType::f32), f(f(f(1e38) + f(1e38)) + f(1e38)));
  EXPECT_EQ(total({1e38, 1e38, 1e38, 1e38}, DType::f32), std::numeric_limits<double>::infinity());
  EXPECT_EQ(total({1e38, 1e38, 1e38, 1e38}, DType::f64), 4e38);
}

}  // namespace
}  // namespace tandem::comm
