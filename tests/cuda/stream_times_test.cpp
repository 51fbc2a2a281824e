// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// What a record of a GPU's work makes of refusals: the work goes on, and the record says that it
// has not all.

#include <gmock/gmock.h>

#include "tandem/ops/elementwise.hpp"
#include "tandem/profile/step_record.hpp"

#include "cuda/gpus.hpp"

namespace tandem::cuda::test {
namespace {

class StreamTimesFaultTest : public GpusTest {};

TEST_F(StreamTimesFaultTest, ARefusedMarkLeavesTheTimeToQueue) {
  const Tensor a = full({8}, 1, {.dtype = DType::f64, .device = gpu(0)});
  for (const char* call : {"cudaEventRecord", "cudaEventElapsedTime", "cudaEventQuery"}) {
    SCOPED_TRACE(call);
    profile::StepRecorder recorder;
    Tensor sum;
    {
      const Subscription subscription(recorder);
      stand_in::fail_call(call, 1, 999);
      sum = a + a;
    }
    const profile::StepRecord record = recorder.take();
    EXPECT_FALSE(record.complete);
    ASSERT_EQ(record.work.size(), 1U);
    EXPECT_EQ(record.work[0].begin, record.work[0].queued_begin);
    EXPECT_EQ(sum.to_doubles(), std::vector<double>(8, 2));
    EXPECT_TRUE(profile::record([&] { a + a; }).complete) << "and the next is whole";
  }
}

}  // namespace
}  // namespace tandem::cuda::test
