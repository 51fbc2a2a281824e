// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/train/task.hpp"

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/core/error.hpp"
#include "tandem/optim/sgd.hpp"
#include "tandem/profile/memory_profile.hpp"
#include "tandem/runtime/runtime.hpp"

#include "thrown_text.hpp"
#include "train/small_run.hpp"

namespace tandem::training::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t kMany = 5000;  // outputs of a row, so that they are most of a step's memory

/// A module without buffers or random numbers, whose outputs are large.
struct Wide : nn::Module {
  nn::Linear hidden{6, 4, {.dtype = DType::f64}};
  nn::Linear head{4, kMany, {.dtype = DType::f64}};
  Tensor forward(const Tensor& x) { return head(tanh(hidden(x))); }
  TANDEM_MODULE(Wide, hidden, head)
};

struct Outcome {
  std::vector<double> losses;
  Numbers weights;
  profile::MemoryProfile memory;

  /// The bytes of gathered outputs at the device's peak.
  std::size_t outputs(std::size_t device) const {
    return profile::by_category(
        memory.devices.at(device).at_peak)[static_cast<std::size_t>(Category::output)];
  }
  std::size_t peak(std::size_t device) const {
    std::size_t bytes = 0;
    for (const std::size_t part : profile::by_category(memory.devices.at(device).at_peak))
      bytes += part;
    return bytes;
  }
};

/// Three updates by a batch whose 7 rows are divided into 4 and 3.
Outcome train(LossPlace place, parallel::Mode mode, std::optional<Device> output = std::nullopt) {
  manual_seed(7);
  Classifier<Wide> task(Wide(), {.devices = cpus(2), .output_device = output, .mode = mode}, place);
  optim::SGD sgd(task.module().named_parameters(), {.lr = 0.1, .momentum = 0.9});
  const datasets::Batch batch{randn({7, 6}, {.dtype = DType::f64}), randint(0, kMany, {7})};
  Outcome outcome;
  outcome.losses.push_back(task.step(batch, sgd).loss);
  outcome.memory = profile::record_memory(
      task.devices(), [&] { outcome.losses.push_back(task.step(batch, sgd).loss); });
  const parallel::StepResult last = task.step(batch, sgd);
  outcome.losses.push_back(last.loss);
  EXPECT_THAT(last.rows, ElementsAre(4, 3));
  EXPECT_EQ(last.weight, 7);
  for (const auto& [name, x] : task.module().state_dict())
    outcome.weights[name] = x.to_doubles();
  return outcome;
}

TEST(TaskTest, GatheredOutputsDoNotChangeTheTraining) {
  for (const parallel::Mode mode : {parallel::Mode::classic, parallel::Mode::sharded}) {
    const Outcome with = train(LossPlace::replica_and_outputs, mode);
    const Outcome without = train(LossPlace::replica, mode);
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_NEAR(with.losses.at(i), without.losses.at(i), 1e-12);
    EXPECT_LT(with.losses.at(2), with.losses.at(0));
    ASSERT_EQ(with.weights.size(), without.weights.size());
    for (const auto& [name, values] : with.weights)
      for (std::size_t i = 0; i < values.size(); ++i)
        ASSERT_NEAR(values[i], without.weights.at(name).at(i), 1e-12) << name;
  }
}

TEST(TaskTest, TheOutputDeviceHoldsAllOutputsOnceMore) {
  constexpr std::size_t kRowNbytes = kMany * 8;
  constexpr std::size_t kOutputs = 7 * kRowNbytes;
  const auto mode = parallel::Mode::classic;
  const Outcome with = train(LossPlace::replica_and_outputs, mode);
  const Outcome without = train(LossPlace::replica, mode);
  EXPECT_EQ(with.outputs(0), kOutputs);
  EXPECT_EQ(with.outputs(1), 0);
  EXPECT_EQ(without.outputs(0), 0);
  // Besides, a call of the wrapper keeps each device's own outputs until its backward, when a step
  // has as much or less of other things.
  EXPECT_GE(with.peak(0), without.peak(0) + kOutputs);
  EXPECT_LE(with.peak(0), without.peak(0) + 4 * kRowNbytes + kOutputs);
  EXPECT_GE(with.peak(1), without.peak(1));
  EXPECT_LE(with.peak(1), without.peak(1) + 3 * kRowNbytes);
  const Outcome elsewhere = train(LossPlace::replica_and_outputs, mode, cpus(2).at(1));
  EXPECT_EQ(elsewhere.outputs(0), 0);
  EXPECT_EQ(elsewhere.outputs(1), kOutputs);
}

/// A task whose loss is on the output device, of two devices with limits.
struct LimitedTask {
  LimitedTask() {
    for (const Device d : cpus(2))
      logical_device(d).set_limit(logical_device(d).memory_stats().in_use + (8u << 20));
  }
  LimitedTask(const LimitedTask&) = delete;
  LimitedTask& operator=(const LimitedTask&) = delete;
  ~LimitedTask() {
    for (const Device d : cpus(2))
      logical_device(d).set_limit(SIZE_MAX);
  }
  static datasets::Batch batch(std::int64_t rows) {
    return {randn({rows, 6}, {.dtype = DType::f64}), randint(0, kMany, {rows})};
  }
  bool fits(std::int64_t rows) {
    try {
      task.step(batch(rows), sgd);
      return true;
    } catch (const std::exception& e) {
      EXPECT_NE(find_cause<OutOfMemory>(e), nullptr) << e.what();
      return false;
    }
  }

  Classifier<Wide> task{
      Wide(), {.devices = cpus(2), .mode = parallel::Mode::classic}, LossPlace::output_device};
  optim::SGD sgd{task.module().named_parameters(), {.lr = 0.1, .momentum = 0.9}};
};

TEST(TaskTest, TheLargestBatchCountsTheGatheredOutputs) {
  parallel::LargestBatch found;
  {
    LimitedTask limited;
    found = limited.task.find_largest_batch(LimitedTask::batch, limited.sgd);
  }
  EXPECT_TRUE(found.is_largest);
  EXPECT_GT(found.rows, 20);
  EXPECT_GT(found.step.peak_bytes.at(0), found.step.peak_bytes.at(1));
  LimitedTask another;
  EXPECT_TRUE(another.fits(2)) << "makes the optimizer's state";
  EXPECT_TRUE(another.fits(found.rows));
  EXPECT_FALSE(another.fits(found.rows + 1));
}

TEST(TaskTest, GatheredOutputsAreRefusedWhereAStepIsMoreThanOneCall) {
  EXPECT_THAT(testing::thrown_text([] {
                Classifier<Wide>(
                    Wide(), {.devices = cpus(2), .accumulate = 2}, LossPlace::replica_and_outputs);
              }),
              HasSubstr("accumulate is 2, which needs the loss in the replica, without gathered"));
}

}  // namespace
}  // namespace tandem::training::test
