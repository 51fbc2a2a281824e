// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// DataParallel over the processes of a launcher: every process runs these tests, with its part of
// each batch, and holds the result against one device's.
#include "tandem/parallel/data_parallel.hpp"

#include <gmock/gmock.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/nn/replicate.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/dropout.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/optim/sgd.hpp"

#include "parallel/nets.hpp"
#include "thrown_text.hpp"
#include "world_of_tests.hpp"

namespace tandem::parallel::test {
namespace {

using tandem::testing::test_world;
using tandem::testing::thrown_text;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// Batch norm, and dropout whose mask is the whole batch's.
struct DropoutMlp : nn::Module {
  NormMlp inner;
  Tensor forward(const Tensor& x) { return inner(is_training() ? dropout(x, 0.3) : x); }
  TANDEM_MODULE(DropoutMlp, inner)
};

/// This process's rows of a batch, which may be none.
Batch part_of(const Batch& batch) {
  const std::int64_t rows = batch.x.size(0), processes = test_world()->size();
  const std::int64_t rank = test_world()->rank();
  const std::int64_t begin = rank * (rows / processes) + std::min(rank, rows % processes);
  const std::int64_t count = rows / processes + (rank < rows % processes ? 1 : 0);
  return {batch.x.narrow(0, begin, count), batch.labels.narrow(0, begin, count)};
}

/// The last one has a row for one process alone.
Batch batch_of_step(int step, DType t = DType::f64) {
  return make_batch(step % 5 == 4 ? 1 : 11, 100 + static_cast<std::uint64_t>(step), t, false);
}

constexpr int kBatches = 9;
constexpr int kWithStatistics = 4;  // the fifth has one row, and batch norm needs more

struct Case {
  Mode mode;
  int devices;
};
void PrintTo(const Case& c, std::ostream* s) {
  *s << name(c.mode) << ", " << c.devices << " devices";
}

class ProcessesTest : public ::testing::TestWithParam<Case> {
 protected:
  DataParallelOptions options() const {
    return {.devices = devices(GetParam().devices),
            .mode = GetParam().mode,
            .deadline = std::chrono::seconds(20),
            .world = test_world()};
  }
};

/// The weights after all batches; the mean loss of each, too.
template <class Net>
std::pair<Values, std::vector<double>> train(Net net,
                                             const DataParallelOptions& options,
                                             bool in_parts,
                                             int steps = kBatches) {
  std::vector<double> losses;
  {
    optim::AdamW optimizer(net.named_parameters(), {.lr = 0.01});
    DataParallel dp(net, options);
    for (int step = 0; step < steps; ++step) {
      const Batch batch = batch_of_step(step);
      manual_seed(40 + static_cast<std::uint64_t>(step));
      losses.push_back(dp.step(in_parts ? part_of(batch) : batch, kLoss, &optimizer).loss);
    }
  }
  return {values_of(net), losses};
}

template <class Net>
void expect_one_device(const DataParallelOptions& options) {
  manual_seed(5);
  const Net net;
  const auto [alone, losses] = train<Net>(nn::clone(net), {.devices = devices(1)}, false);
  const auto [together, own] = train<Net>(nn::clone(net), options, true);
  EXPECT_LE(difference(together, alone), 1e-12);
  for (int step = 0; step < kBatches; ++step)
    EXPECT_NEAR(own[static_cast<std::size_t>(step)], losses[static_cast<std::size_t>(step)], 1e-12);
}

TEST_P(ProcessesTest, TrainAsOneDevice) {
  expect_one_device<Mlp>(options());
}

TEST_P(ProcessesTest, BatchNormAndDropoutAreTheWholeBatchs) {
  manual_seed(5);
  const DropoutMlp net;
  DropoutMlp alone = nn::clone(net), together = nn::clone(net);
  optim::SGD of_alone(alone.named_parameters(), {.lr = 0.1});
  optim::SGD of_together(together.named_parameters(), {.lr = 0.1});
  DataParallel one(alone, {.devices = devices(1)});
  DataParallel dp(together, options());
  for (int step = 0; step < kWithStatistics; ++step) {
    const Batch batch = batch_of_step(step);
    manual_seed(40);
    one.step(batch, kLoss, &of_alone);
    manual_seed(40);
    dp.step(part_of(batch), kLoss, &of_together);
  }
  EXPECT_LE(difference(values_of(together), values_of(alone)), 1e-12);
}

TEST_P(ProcessesTest, OptimizersThatDifferAreFoundByTheDriftOfTheProcesses) {
  if (test_world() == nullptr) GTEST_SKIP() << "it needs several processes";
  manual_seed(5);
  Mlp net;
  DataParallelOptions with_checks = options();
  with_checks.checks.drift_every = 1;
  DataParallel dp(net, with_checks);
  const bool is_other = test_world()->rank() == 1;
  optim::SGD optimizer(net.named_parameters(), {.lr = is_other ? 0.2 : 0.1});
  dp.step(part_of(batch_of_step(0)), kLoss, &optimizer);
  try {
    dp.step(part_of(batch_of_step(1)), kLoss, &optimizer);
    ADD_FAILURE() << "the second step begins with weights that differ";
  } catch (const std::exception& e) {
    EXPECT_THAT(e.what(), HasSubstr("of process 1 differs from its value in process 0"));
  }
}

TEST_P(ProcessesTest, SeedsThatDifferAreFoundWithTheDrift) {
  if (test_world() == nullptr) GTEST_SKIP() << "it needs several processes";
  manual_seed(5);
  Mlp net;
  DataParallelOptions with_checks = options();
  with_checks.checks.drift_every = 1;
  DataParallel dp(net, with_checks);
  const Batch batch = part_of(batch_of_step(0));  // which sets a seed
  manual_seed(test_world()->rank() == 1 ? 7 : 6);
  EXPECT_THAT(thrown_text<Error>([&] { dp.step(batch, kLoss); }),
              HasSubstr("the seed of random numbers"));
}

/// A step in micro-batches has the gradients of one device that takes the batch at once.
void expect_one_batch(const Batch& batch, DataParallelOptions options, std::int64_t micro_batches) {
  manual_seed(5);
  const Mlp net;
  Mlp alone = nn::clone(net), together = nn::clone(net);
  DataParallel one(alone, {.devices = devices(1)});
  one.step(batch, kLoss);
  options.accumulate = micro_batches;
  DataParallel dp(together, options);
  dp.step(part_of(batch), kLoss);
  EXPECT_LE(difference(gradients_of(together), gradients_of(alone)), 1e-12);
}

TEST_P(ProcessesTest, MicroBatchesAreOneBatch) {
  expect_one_batch(make_batch(16, 3, DType::f64, true), options(), 2);
}

TEST_P(ProcessesTest, WithFewerRowsThanMicroBatches) {
  for (const std::int64_t rows : {1, 3, 5}) {
    SCOPED_TRACE(rows);
    expect_one_batch(make_batch(rows, 3, DType::f64, false), options(), 3);
  }
}

TEST_P(ProcessesTest, GradientsOfGatheredOutputsAreTheMeanOverAllRows) {
  manual_seed(5);
  const NormMlp net;
  NormMlp alone = nn::clone(net), together = nn::clone(net);
  const Batch batch = make_batch(11, 3, DType::f64, false);
  DataParallel dp(together, options());
  const Batch part = part_of(batch);
  for (int i = 0; i < 2; ++i) {  // the second adds to the first
    cross_entropy(alone(batch.x), batch.labels).backward();
    cross_entropy(dp(part.x), part.labels).backward();
  }
  EXPECT_LE(difference(gradients_of(together), gradients_of(alone)), 1e-12);
  EXPECT_LE(difference(values_of(together), values_of(alone)), 1e-12) << "running statistics";
}

TEST_P(ProcessesTest, OutputsOfAProcessWithoutRowsAreRefusedInAll) {
  manual_seed(5);
  Mlp net;
  DataParallel dp(net, options());
  const Batch batch = make_batch(test_world()->size() - 1, 3, DType::f64, false);
  EXPECT_THAT(thrown_text<ReplicaError>([&] { dp(part_of(batch).x); }),
              AllOf(HasSubstr("process " + std::to_string(test_world()->size() - 1)),
                    HasSubstr("has no rows"),
                    HasSubstr("use step")));
  const Batch enough = part_of(batch_of_step(0));
  cross_entropy(dp(enough.x), enough.labels).backward();  // all go on
}

TEST_P(ProcessesTest, GradientsOfInputsAreThoseOfTheProcessLoss) {
  manual_seed(5);
  Mlp net;
  const Batch part = part_of(make_batch(11, 3, DType::f64, false));
  Mlp alone = nn::clone(net);
  Tensor here = part.x.detach().clone(), there = part.x.detach().clone();
  here.requires_grad_();
  there.requires_grad_();
  DataParallel dp(net, options());
  cross_entropy(alone(here), part.labels).backward();
  cross_entropy(dp(there), part.labels).backward();
  const Values expected{{"x", here.grad().to_doubles()}}, found{{"x", there.grad().to_doubles()}};
  EXPECT_LE(difference(found, expected), 1e-12);
}

TEST_P(ProcessesTest, StepsWithoutOptimizerAddUp) {
  manual_seed(5);
  const Mlp net;
  Mlp alone = nn::clone(net), together = nn::clone(net);
  DataParallel dp(together, options());
  for (int step = 0; step < 2; ++step) {
    const Batch batch = batch_of_step(step);
    cross_entropy(alone(batch.x), batch.labels).backward();
    dp.step(part_of(batch), kLoss);
  }
  EXPECT_LE(difference(gradients_of(together), gradients_of(alone)), 1e-12);
}

TEST_P(ProcessesTest, AFailureOfOneIsToldToAllAndHasNoEffect) {
  manual_seed(5);
  Mlp net;
  optim::SGD optimizer(net.named_parameters(), {.lr = 0.1});
  DataParallel dp(net, options());
  const Batch batch = part_of(batch_of_step(0));
  dp.step(batch, kLoss, &optimizer);
  const Values before = values_of(net);
  const bool fails = test_world()->rank() == 1;
  const std::string text = thrown_text<ReplicaError>([&] {
    dp.step(
        batch,
        [&](Mlp& m, const Batch& b) {
          if (fails) throw InvalidArgument("a bad row");
          return kLoss(m, b);
        },
        &optimizer);
  });
  EXPECT_THAT(text, HasSubstr("a bad row"));
  if (!fails) {
    EXPECT_THAT(text, AllOf(HasSubstr("of process 1 on"), HasSubstr("failed")));
  }
  EXPECT_EQ(difference(values_of(net), before), 0);
  dp.step(batch, kLoss, &optimizer);  // all go on
  EXPECT_GT(difference(values_of(net), before), 0);
}

TEST_P(ProcessesTest, WhatOneSkipsAllSkip) {
  manual_seed(5);
  Mlp net;
  optim::SGD optimizer(net.named_parameters(), {.lr = 0.1});
  DataParallelOptions o = options();
  o.checks.non_finite_loss = NonFinite::skip;
  DataParallel dp(net, o);
  const Values before = values_of(net);
  Batch batch = part_of(batch_of_step(0));
  if (test_world()->rank() == 1) batch.x = batch.x * std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(dp.step(batch, kLoss, &optimizer).skipped);
  EXPECT_EQ(difference(values_of(net), before), 0);
}

TEST_P(ProcessesTest, BeginWithTheModuleOfProcess0) {
  manual_seed(5 + static_cast<std::uint64_t>(test_world()->rank()));
  Mlp net;
  const DataParallel dp(net, options());
  manual_seed(5);
  Mlp first;
  EXPECT_EQ(difference(values_of(net), values_of(first)), 0);
}

TEST_P(ProcessesTest, WhatAnEvaluationWritesStaysWithTheCopies) {
  if (test_world() == nullptr) GTEST_SKIP() << "it needs several processes";
  Counts net;
  DataParallel dp(net, options());
  dp.eval();
  const autograd::NoGrad off;
  for (int call = 0; call <= test_world()->rank(); ++call)
    dp(ones({4, 3}, {.dtype = DType::f64}));
  EXPECT_EQ(net.calls.to_doubles(), std::vector<double>(2));
}

INSTANTIATE_TEST_SUITE_P(Modes,
                         ProcessesTest,
                         ::testing::Values(Case{Mode::classic, 2},
                                           Case{Mode::server, 1},
                                           Case{Mode::server, 2},
                                           Case{Mode::sharded, 1},
                                           Case{Mode::sharded, 2},
                                           Case{Mode::sharded, 3},
                                           Case{Mode::ddp, 1},
                                           Case{Mode::ddp, 2}));

TEST(ProcessesOptionsTest, OneDeviceEachIsDdpOnTwoDevicesBitForBit) {
  if (test_world()->size() != 2) GTEST_SKIP() << "for two processes";
  manual_seed(5);
  const NormMlp net;
  const auto [here, losses] = train<NormMlp>(
      nn::clone(net), {.devices = devices(2), .mode = Mode::ddp}, false, kWithStatistics);
  const auto [together, own] =
      train<NormMlp>(nn::clone(net),
                     {.devices = devices(1), .mode = Mode::ddp, .world = test_world()},
                     true,
                     kWithStatistics);
  EXPECT_EQ(difference(together, here), 0);
  EXPECT_EQ(own, losses);
}

TEST(ProcessesOptionsTest, ModulesThatDifferAreRefused) {
  Mlp mlp;
  NormMlp norm;
  const DataParallelOptions options{.devices = devices(1), .world = test_world()};
  if (test_world()->rank() == 0) {
    EXPECT_THAT(thrown_text<Desync>([&] { DataParallel(mlp, options); }),
                HasSubstr("rank 1 has a different module from rank 0"));
  } else {
    EXPECT_THAT(thrown_text<Desync>([&] { DataParallel(norm, options); }),
                AllOf(HasSubstr("this rank has parameter 'norm.weight'"),
                      HasSubstr("rank 0 has parameter 'hidden.bias'")));
  }
}

TEST(ProcessesOptionsTest, SettingsThatDifferAreRefused) {
  Mlp net;
  const int rank = test_world()->rank();
  EXPECT_THAT(thrown_text([&] {
                DataParallel(net, {.devices = devices(1 + rank), .world = test_world()});
              }),
              AllOf(HasSubstr(rank == 0 ? "the number of devices is 1 in this process, and 2 in"
                                        : "in this process, and 1 in"),
                    HasSubstr("give all processes the same")));
  EXPECT_THAT(thrown_text([&] {
                DataParallel(net,
                             {.devices = devices(1),
                              .mode = rank == 0 ? Mode::ddp : Mode::sharded,
                              .world = test_world()});
              }),
              HasSubstr(rank == 0 ? "mode is ddp in this process, and sharded in"
                                  : "mode is sharded in this process, and ddp in"));
}

TEST(ProcessesOptionsTest, WhatOneProcessPlansIsRefused) {
  Mlp net;
  const auto refused = [&](DataParallelOptions o) {
    o.devices = devices(2);
    o.world = test_world();
    return thrown_text([&] { DataParallel(net, o); });
  };
  EXPECT_THAT(refused({.chunks = ChunkPolicy::planned()}), HasSubstr("give chunk sizes"));
  EXPECT_THAT(refused({.on_oom = OnOutOfMemory::replan}), HasSubstr("on_oom"));
  EXPECT_THAT(refused({.bitwise_leaves = 4}), HasSubstr("leave it at 0"));
  DataParallel dp(net, {.devices = devices(1), .world = test_world()});
  EXPECT_THAT(thrown_text([&] { const auto scope = dp.no_sync(); }), HasSubstr("accumulate"));
  const Batch batch = make_batch(4, 1, DType::f64, false);
  EXPECT_THAT(thrown_text([&] { dp.step_model(batch, kLoss); }), HasSubstr("has no world"));
  const Tensor loss = cross_entropy(dp(batch.x), batch.labels);
  EXPECT_THAT(thrown_text([&] { autograd::grad({loss}, net.parameters()); }),
              HasSubstr("call backward() without them"));
}

}  // namespace
}  // namespace tandem::parallel::test
