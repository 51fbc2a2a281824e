// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/step/step_runner.hpp"

#include <atomic>

#include <gmock/gmock.h>

#include "tandem/optim/sgd.hpp"

#include "parallel/engine.hpp"
#include "thrown_text.hpp"

namespace tandem::parallel::test {
namespace {

using tandem::testing::thrown_text;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Steps over four rows, whose mean loss has a gradient of 1 for each weight.
struct Runs : TestEngine {
  explicit Runs(const EngineOptions& o = {.mode = Mode::sharded}) : TestEngine(o) {}

  StepRunner runner_of(optim::Optimizer* optimizer = nullptr) { return {engine, loss, optimizer}; }
  StepResult step(optim::Optimizer* optimizer = nullptr) {
    return runner_of(optimizer).step(four, {});
  }
  std::vector<double> weight_gradient() { return modules[0].weight.grad().to_doubles(); }
  optim::SGD sgd() { return optim::SGD(modules[0].named_parameters(), {.lr = 0.5}); }

  const BatchSize four{4, {0, 0}};
  ReplicaSet::LossBody loss = [this](const Replica& r) {
    losses.fetch_add(1);
    return loss_of(r);
  };
  std::atomic<int> losses = 0;
};

TEST(StepRunnerTest, DividesTheBatchAsThePolicySays) {
  Runs r({.mode = Mode::sharded, .chunks = ChunkPolicy::sizes({1, 3})});
  const StepResult result = r.step();
  EXPECT_THAT(result.rows, ElementsAre(1, 3));
  EXPECT_DOUBLE_EQ(result.loss, 304.8);
  EXPECT_THAT(r.weight_gradient(), Each(1));
}

TEST(StepRunnerTest, CutsTheBatchIntoMicroBatches) {
  Runs r({.mode = Mode::sharded, .accumulate = 2});
  r.step();
  EXPECT_EQ(r.losses, 4) << "two on each of two devices";
  EXPECT_THAT(r.weight_gradient(), Each(1));
}

TEST(StepRunnerTest, MeasuresWithoutEffect) {
  Runs r;
  optim::SGD sgd = r.sgd();
  const auto probe = r.runner_of(&sgd).try_batch(r.four);
  ASSERT_TRUE(probe.has_value());
  EXPECT_THAT(probe->rows, ElementsAre(2, 2));
  EXPECT_GT(probe->peak_bytes[1], 0u);
  EXPECT_EQ(probe->ms.size(), 2u);
  EXPECT_EQ(r.modules[0].weight.to_doubles()[0], 1) << "no update";
}

TEST(StepRunnerTest, RefusesWhatHasNoMeanLossOrUpdate) {
  Runs r;
  EXPECT_THAT(thrown_text([&] {
                r.runner_of().step({0, {0, 0}}, {});
              }),
              HasSubstr("the batch has no rows"));
  optim::GradScaler scaler;
  EXPECT_THAT(thrown_text([&] { r.runner_of().step(r.four, {.scaler = &scaler}); }),
              HasSubstr("a scaler without an optimizer"));
  optim::SGD sgd = r.sgd();
  r.gradients.syncs = GradientSync::off;
  EXPECT_THAT(thrown_text([&] { r.step(&sgd); }), HasSubstr("leave the scope of no_sync first"));
  EXPECT_EQ(r.losses, 0);
}

TEST(StepRunnerTest, TheBitwiseModeRefusesASecondCutAndBuffersThatTrain) {
  Runs cut({.mode = Mode::sharded, .accumulate = 2, .bitwise_leaves = 4});
  EXPECT_THAT(thrown_text([&] { cut.step(); }),
              HasSubstr("bitwise_leaves and accumulate both cut the batch"));
  Runs buffers({.mode = Mode::sharded, .bitwise_leaves = 4});
  EXPECT_THAT(thrown_text([&] { buffers.step(); }), HasSubstr("no rule for buffers"));
}

}  // namespace
}  // namespace tandem::parallel::test
