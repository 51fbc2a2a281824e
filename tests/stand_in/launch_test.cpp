// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cuda/launch.hpp"

#include <cstdint>
#include <vector>

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

namespace tandem::kernels {
namespace {

/// Sums rows of a matrix.
struct RowSums {
  using Total = std::int64_t;
  const std::int64_t* x;
  std::int64_t* y;
  std::int64_t columns;

  struct Run {
    const std::int64_t* row;
    std::int64_t sum = 0;
    std::int64_t load(std::int64_t i) const { return row[i]; }
    template <int kCount>
    void add(const std::int64_t (&values)[kCount]) {
      for (const std::int64_t value : values)
        sum += value;
    }
    std::int64_t total() const { return sum; }
  };
  Run run(std::int64_t row) const { return {x + row * columns}; }
  std::int64_t join(std::int64_t a, std::int64_t b) const { return a + b; }
  void store(std::int64_t row, std::int64_t sum) const { y[row] = sum; }
};

TEST(LaunchTest, LoopsRunInTheStreamsOrder) {
  std::vector<std::int64_t> x(3 * 1000), y(3);
  stand_in::reset();
  stand_in::set_gpus(1);
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  const CudaStream s{Device{DeviceType::cuda, 0}, stream};
  for_each(s, 3 * 1000, [p = x.data()](std::int64_t i) { p[i] = i; });
  reduce_each(s, 3, 1000, Walk::along, RowSums{x.data(), y.data(), 1000});
  for_each(s, 0, [](std::int64_t) { FAIL(); });
  EXPECT_EQ(stand_in::call_counts()["cudaLaunchKernel"], 2);
  EXPECT_EQ(x[1], 0);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  for (std::int64_t row = 0; row < 3; ++row)
    EXPECT_EQ(y[row], 1000 * (1000 * row) + 999 * 1000 / 2) << "row " << row;
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

}  // namespace
}  // namespace tandem::kernels
