// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Tensors of two GPUs are compared by sums of rows, beside a comparison of all bytes by the host.

#include "libtorch/gpu/gpu_comparison.hpp"

#include <cstring>
#include <vector>

#include <ATen/ATen.h>

#include "tandem/profile/step_record.hpp"

#include "gpu/gpus.hpp"
#include "libtorch/kernels/gpu_ops.hpp"

namespace tandem::libtorch::test {
namespace {

class GpuComparisonTest : public GpusTest {
 protected:
  static at::Tensor on(int gpu, const at::Tensor& x) {
    return x.to(c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(gpu)));
  }
  static at::Tensor bytes(std::int64_t count) { return at::randint(256, {count}, at::kByte); }
};

bool differ(const at::Tensor& x, const at::Tensor& y) {
  const at::Tensor a = x.cpu(), b = y.cpu();
  return std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) != 0;
}

TEST_F(GpuComparisonTest, FindsEachPairThatDiffers) {
  at::manual_seed(1);
  GpuComparison comparison;
  std::vector<bool> expected;
  // Less than a row, rows, more than one and a rest, more rows than are added up at once; numbers
  // of 4 bytes, and what is none of them.
  for (const std::int64_t n :
       {0, 1, 3, 4, 5, 4095, 4096, 4097, 8192, 100'000, (9 << 20) + 4, (3 << 20) + 1}) {
    for (const std::int64_t changed : {std::int64_t{-1}, std::int64_t{0}, n / 2, n - 1}) {
      const at::Tensor x = bytes(n), y = x.clone();
      if (changed >= 0 && changed < n) y[changed].bitwise_xor_(0x80);
      comparison.add(on(0, x), on(1, y));
      expected.push_back(differ(x, y));
    }
  }
  EXPECT_EQ(comparison.differences(), expected);
  EXPECT_EQ(GpuComparison().differences(), std::vector<bool>{});
}

TEST_F(GpuComparisonTest, FindsWhatPlainSumsWouldMiss) {
  const at::Tensor x = at::arange(1, 3001, at::kFloat);
  const auto with = [&](std::int64_t i, double a, std::int64_t k, double b) {
    const at::Tensor y = x.clone();
    y[i] = a;
    y[k] = b;
    return y;
  };
  const std::vector<at::Tensor> changed{with(5, 7, 6, 6),          // two have changed places
                                        with(1, -2, 3, -4),        // two signs
                                        with(1, -2, 1500, -1501),  // in two rows
                                        with(2998, 3000, 2999, 2999),
                                        -x,
                                        x.flip(0)};
  GpuComparison comparison;
  for (const at::Tensor& y : changed)
    comparison.add(on(1, x), on(0, y));
  EXPECT_EQ(comparison.differences(), std::vector<bool>(changed.size(), true));
}

TEST_F(GpuComparisonTest, ComparesRangesAtAnyPlace) {
  at::manual_seed(2);
  // One arena, whose parts lie side by side on both GPUs, and begin where no number does on one.
  const at::Tensor all = bytes(9000), x = on(0, all), y = on(1, at::cat({bytes(1), all}));
  for (const std::int64_t shift : {0, 1}) {
    const at::Tensor other = on(1, all.clone()), to = shift == 1 ? y.narrow(0, 1, 9000) : other;
    to[4500].bitwise_xor_(1);
    GpuComparison comparison;
    std::vector<bool> expected;
    for (std::int64_t begin = 0; begin < 9000; begin += 1000) {
      const at::Tensor a = x.narrow(0, begin, 900), b = to.narrow(0, begin, 900);
      comparison.add(a, b);
      expected.push_back(differ(a, b));
    }
    EXPECT_EQ(comparison.differences(), expected) << shift;
    EXPECT_TRUE(expected[4]);
  }
}

TEST_F(GpuComparisonTest, SendsSumsInPlaceOfTensors) {
  const at::Tensor x = on(0, at::rand({1 << 18}));
  GpuComparison comparison;
  comparison.add(x, on(1, x));
  const profile::StepRecord record = profile::record([&] {
    const GpuOps told(GpuOps::Threads::calling);
    EXPECT_EQ(comparison.differences(), std::vector<bool>{false});
  });
  std::size_t sent = 0;
  for (const auto& transfer : record.transfers)
    sent += transfer.nbytes;
  EXPECT_GT(sent, 0U);
  EXPECT_LE(sent, x.nbytes() / 512);
}

}  // namespace
}  // namespace tandem::libtorch::test
