// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>
#include <omp.h>

#include "tandem/ops/activation.hpp"
#include "tandem/ops/conv.hpp"
#include "tandem/ops/linalg.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/tensor/factories.hpp"

namespace tandem {
namespace {

/// The caller has 3 threads, a number that no device's share is here.
class OpenMpThreadsTest : public testing::Test {
 protected:
  OpenMpThreadsTest() { omp_set_num_threads(3); }
  ~OpenMpThreadsTest() override { omp_set_num_threads(before_); }

 private:
  int before_ = omp_get_max_threads();
  ContextScope share_{[](Context& c) { c.threads = 2; }};
};

TEST_F(OpenMpThreadsTest, AreTheCallersAfterAKernelOfSeveralThreads) {
  const Tensor x = ones({1 << 20}, {.device = Device{DeviceType::cpu, 0}});
  relu(x);
  EXPECT_EQ(omp_get_max_threads(), 3);
}

TEST_F(OpenMpThreadsTest, AreTheCallersAfterAProduct) {
  const Tensor x = ones({512, 512}, {.device = Device{DeviceType::cpu, 0}});
  matmul(x, x);
  EXPECT_EQ(omp_get_max_threads(), 3);
}

TEST_F(OpenMpThreadsTest, AreTheCallersAfterAConvolution) {
  const Tensor x = ones({8, 16, 32, 32}, {.device = Device{DeviceType::cpu, 0}});
  const Tensor w = ones({16, 16, 3, 3}, {.device = Device{DeviceType::cpu, 0}});
  conv2d(x, w);
  EXPECT_EQ(omp_get_max_threads(), 3);
}

}  // namespace
}  // namespace tandem
