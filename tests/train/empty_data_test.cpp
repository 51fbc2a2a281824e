// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>

#include "thrown_text.hpp"
#include "train/small_run.hpp"

namespace tandem::training::test {
namespace {

using ::testing::HasSubstr;

// It ended at once before, as if it had trained.
TEST(EmptyDataTest, ARunHasSamplesToTrainOn) {
  SmallRun r(1);
  const std::vector<Tensor> nothing{zeros({0, 6}, {.dtype = DType::f64}),
                                    zeros({0}, {.dtype = DType::i64})};
  datasets::DataLoader empty(std::make_shared<datasets::TensorDataset>(nothing),
                             {.batch_size = kBatch});
  EXPECT_THAT(tandem::testing::thrown_text([&] {
                run(*r.task, *r.optimizer, empty, r.test, kBatch, r.state, {.epochs = 1});
              }),
              HasSubstr("have no samples"));
  EXPECT_EQ(r.state.step, 0);
}

}  // namespace
}  // namespace tandem::training::test
