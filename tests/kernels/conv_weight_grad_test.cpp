// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdint>

#include <gtest/gtest.h>

#include "tandem/ops/conv.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/tensor/factories.hpp"

#include "kernels/variants.hpp"

namespace tandem::kernels {
namespace {

Tensor channels_last(const Shape& shape) {
  return randn(shape).contiguous(MemoryFormat::channels_last);
}

TEST(ConvWeightGrad, HasTheSameBitsOnAnyNumberOfThreads) {
  if (variant() == "x86-64-v2") GTEST_SKIP() << "libraries share the sums by threads";
  const Conv2dOptions options{.padding = {1, 1}};
  for (const std::int64_t channels : {3, 32}) {  // three segments; one block of channels, and two
    const Tensor x = channels_last({6, channels, 24, 24}), dy = channels_last({6, 48, 24, 24});
    const auto gradient = [&](int threads) {
      const ContextScope scope([threads](Context& c) { c.threads = threads; });
      return conv2d_weight_grad(dy, x, {48, channels, 3, 3}, options).to_doubles();
    };
    const auto alone = gradient(1);
    for (const int threads : {2, 3, 4, 7})
      EXPECT_EQ(gradient(threads), alone) << threads << " threads, " << channels << " channels";
  }
}

}  // namespace
}  // namespace tandem::kernels
