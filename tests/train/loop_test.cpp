// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/train/loop.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <gmock/gmock.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "tandem/nn/replicate.hpp"

#include "devices.hpp"
#include "io/temp_dir.hpp"
#include "train/small_run.hpp"

namespace tandem::training::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Gives step k the loss k, and fails where told.
class Script final : public Task {
 public:
  explicit Script(std::int64_t fail_at = -1) : fail_at_(fail_at) {}
  nn::Module& module() override { return net_; }
  const std::vector<Device>& devices() const override { return devices_; }
  std::vector<RowRange> plan(std::int64_t rows) const override { return {{0, 5}, {5, rows}}; }
  parallel::LargestBatch find_largest_batch(const std::function<datasets::Batch(std::int64_t)>&,
                                            optim::Optimizer&) override {
    return {};
  }
  parallel::StepResult step(const datasets::Batch& batch, optim::Optimizer&) override {
    if (++steps_ == fail_at_) throw InvalidArgument("the script fails");
    in_training_ = in_training_ && net_.is_training();
    return {.loss = static_cast<double>(steps_),
            .weight = static_cast<double>(batch.at(0).size(0)),
            .rows = {}};
  }
  Score score(const datasets::Batch& batch) override {
    in_evaluation_ = in_evaluation_ && !net_.is_training();
    const std::int64_t rows = batch.at(0).size(0);
    const auto weight = static_cast<double>(rows);
    return {.correct = rows / 2, .answers = rows, .loss = 3 * weight, .weight = 2 * weight};
  }

  bool in_training_ = true, in_evaluation_ = true;

 private:
  Net net_;
  std::vector<Device> devices_ = cpus(2);
  std::int64_t fail_at_;
  std::int64_t steps_ = 0;
};

class LoopTest : public ::testing::Test {
 protected:
  RunReport go(const LoopOptions& options, std::int64_t fail_at = -1) {
    script_ = std::make_unique<Script>(fail_at);
    optim::AdamW optimizer(script_->module().named_parameters());
    return run(*script_, optimizer, train_, test_, kBatch, state_, options);
  }

  datasets::DataLoader train_{rows(1), {.batch_size = kBatch}}, test_{rows(2), {.batch_size = 15}};
  RunState state_;
  std::unique_ptr<Script> script_;
};

TEST_F(LoopTest, CallsOnStepAndOnEpochWithTheirFigures) {
  std::vector<StepInfo> steps;
  std::vector<EpochInfo> epochs;
  const RunReport report = go({.epochs = 2,
                               .on_step = [&](const StepInfo& s) { steps.push_back(s); },
                               .on_epoch = [&](const EpochInfo& e) { epochs.push_back(e); }});
  ASSERT_EQ(steps.size(), 6U);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    EXPECT_EQ(steps[i].step, static_cast<std::int64_t>(i + 1));
    EXPECT_EQ(steps[i].epoch, i < 3 ? 1 : 2);
    EXPECT_EQ(steps[i].batch, static_cast<std::int64_t>(i % 3 + 1));
    EXPECT_EQ(steps[i].batches, kBatches);
    EXPECT_EQ(steps[i].rows, i % 3 == 2 ? 8 : 16);
    EXPECT_EQ(steps[i].loss, static_cast<double>(i + 1));
  }
  // Losses 1, 2, 3 over 16, 16 and 8 rows, then 4, 5, 6; 7 + 7 + 5 right of 40.
  ASSERT_EQ(epochs.size(), 2U);
  EXPECT_DOUBLE_EQ(epochs[0].loss, (16.0 * 1 + 16 * 2 + 8 * 3) / 40);
  EXPECT_DOUBLE_EQ(epochs[1].loss, (16.0 * 4 + 16 * 5 + 8 * 6) / 40);
  EXPECT_DOUBLE_EQ(epochs[0].test_accuracy, 19.0 / 40);
  EXPECT_DOUBLE_EQ(epochs[0].test_loss, 1.5);
  EXPECT_EQ(epochs[1].epoch, 2);
  double seconds = 0;
  for (std::size_t i = 3; i < 6; ++i)
    seconds += steps[i].seconds.count();
  EXPECT_DOUBLE_EQ(epochs[1].seconds, seconds);
  EXPECT_EQ(report.epochs.size(), 2U);
  EXPECT_EQ(report.steps, 6);
  EXPECT_FALSE(report.stopped);
  EXPECT_TRUE(script_->in_training_ && script_->in_evaluation_);
  EXPECT_TRUE(script_->module().is_training());
}

TEST_F(LoopTest, CountsTheRowsOfAllProcesses) {
  datasets::DataLoader part{rows(1), {.batch_size = kBatch, .part = 1, .parts = 3}};
  script_ = std::make_unique<Script>(-1);
  optim::AdamW optimizer(script_->module().named_parameters());
  std::vector<std::int64_t> counted;
  run(*script_,
      optimizer,
      part,
      test_,
      kBatch,
      state_,
      {.epochs = 1, .on_step = [&](const StepInfo& s) { counted.push_back(s.rows); }});
  EXPECT_THAT(counted, ElementsAre(16, 16, 8));
}

TEST_F(LoopTest, ReportsRowsOfTheLargestBatchThatRan) {
  datasets::DataLoader small{rows(1), {.batch_size = 100}};
  script_ = std::make_unique<Script>(-1);
  optim::AdamW optimizer(script_->module().named_parameters());
  const RunReport report = run(*script_, optimizer, small, test_, 100, state_, {.epochs = 1});
  ASSERT_EQ(report.devices.size(), 2U);
  EXPECT_EQ(report.devices[0].rows + report.devices[1].rows, 40) << "not 100";
  const RunReport nothing = run(*script_, optimizer, small, test_, 100, state_, {.epochs = 1});
  EXPECT_EQ(nothing.steps, 0);
  EXPECT_EQ(nothing.devices[1].rows, 0);
}

TEST_F(LoopTest, ReportsRowsOfAFullBatchAndPeaks) {
  const Tensor held = zeros({1000}, {.device = cpus(2)[1]});
  const RunReport report = go({.epochs = 1});
  ASSERT_EQ(report.devices.size(), 2U);
  EXPECT_EQ(report.devices[0].rows, 5);
  EXPECT_EQ(report.devices[1].rows, 11);
  EXPECT_EQ(report.devices[1].device, cpus(2)[1]);
  EXPECT_GE(report.devices[1].peak_bytes, 4000U);
}

TEST_F(LoopTest, PercentilesAreThoseOfTheSteps) {
  for (const std::int64_t steps : {1, 2, 7, 10}) {
    state_ = {};
    std::vector<double> ms;
    const RunReport report = go({.epochs = 9, .steps = steps, .on_step = [&](const StepInfo& s) {
                                   ms.push_back(1e3 * s.seconds.count());
                                 }});
    ASSERT_EQ(ms.size(), static_cast<std::size_t>(steps));
    std::ranges::sort(ms);
    // The smallest value that is not below p of all.
    EXPECT_DOUBLE_EQ(report.step_ms_p50, ms[static_cast<std::size_t>((steps + 1) / 2 - 1)]);
    EXPECT_DOUBLE_EQ(report.step_ms_p90, ms[static_cast<std::size_t>((9 * steps + 9) / 10 - 1)]);
  }
}

TEST_F(LoopTest, StepsEndARun) {
  RunReport report = go({.epochs = 9, .steps = 2});
  EXPECT_EQ(report.steps, 2);
  EXPECT_TRUE(report.epochs.empty());
  EXPECT_EQ(state_.position, (datasets::LoaderPosition{.epoch = 0, .batch = 2}));

  // From there to the end of the epoch, which is measured; and no further.
  report = go({.epochs = 9, .steps = 3});
  EXPECT_EQ(report.steps, 1);
  ASSERT_EQ(report.epochs.size(), 1U);
  EXPECT_EQ(state_.position, (datasets::LoaderPosition{.epoch = 1, .batch = 0}));

  report = go({.epochs = 9, .steps = 3});
  EXPECT_EQ(report.steps, 0);
  EXPECT_TRUE(report.epochs.empty());
  EXPECT_EQ(report.step_ms_p50, 0);
}

TEST_F(LoopTest, StopIsAskedAfterEachStep) {
  const tandem::testing::TempDir dir;
  const std::string path = dir.file("run.safetensors");
  std::int64_t asked = 0;
  const RunReport report =
      go({.epochs = 9, .checkpoint = path, .stop = [&asked] { return ++asked == 5; }});
  EXPECT_TRUE(report.stopped);
  EXPECT_EQ(report.steps, 5);
  EXPECT_EQ(report.epochs.size(), 1U);
  EXPECT_EQ(state_.position, (datasets::LoaderPosition{.epoch = 1, .batch = 2}));
  EXPECT_THAT(dir.names(), ElementsAre("run.safetensors"));
}

TEST_F(LoopTest, SavesEverySoManySteps) {
  const tandem::testing::TempDir dir;
  const std::string path = dir.file("run.safetensors");
  std::vector<std::int64_t> saved;
  go({.epochs = 9,
      .steps = 5,
      .checkpoint = path,
      .save_every = 2,
      .on_step = [&](const StepInfo&) {
        saved.push_back(dir.names().empty() ? 0 : read_run_state(path).step);
      }});
  // A step is told of before it is saved; the third ends an epoch.
  EXPECT_THAT(saved, ElementsAre(0, 0, 2, 3, 4));
  EXPECT_EQ(read_run_state(path).step, 5);
}

/// How often files get their names in a folder, from here on.
class Renames {
 public:
  explicit Renames(const std::string& folder) : fd_(::inotify_init1(IN_NONBLOCK)) {
    ::inotify_add_watch(
        fd_, folder.c_str(), IN_MOVED_FROM | IN_MOVED_TO);  // equal ones in a row are told as one
  }
  ~Renames() { ::close(fd_); }
  Renames(const Renames&) = delete;
  Renames& operator=(const Renames&) = delete;

  int count() {
    alignas(inotify_event) char bytes[16384];
    const ssize_t all = ::read(fd_, bytes, sizeof bytes);
    for (ssize_t at = 0; at < all;) {
      inotify_event event{};
      std::memcpy(&event, bytes + at, sizeof event);
      at += static_cast<ssize_t>(sizeof event + event.len);
      if ((event.mask & IN_MOVED_TO) != 0) ++count_;
    }
    return count_;
  }

 private:
  int fd_;
  int count_ = 0;
};

TEST_F(LoopTest, DoesNotSaveARunThatIsSaved) {
  const testing::TempDir dir;
  Renames saves(dir.path());
  go({.epochs = 2, .checkpoint = dir.file("run")});
  EXPECT_EQ(saves.count(), 2);  // after each epoch, and not again at the end
  state_ = {};
  go({.epochs = 1, .steps = 2, .checkpoint = dir.file("run"), .save_every = 1});
  EXPECT_EQ(saves.count(), 4);
  state_ = {};
  go({.epochs = 1, .steps = 2, .checkpoint = dir.file("run")});
  EXPECT_EQ(saves.count(), 5);
}

TEST_F(LoopTest, TellsOfAStepBeforeItIsSaved) {
  const testing::TempDir dir;
  Renames saves(dir.path());
  std::vector<int> before;
  go({.epochs = 1,
      .checkpoint = dir.file("run"),
      .save_every = 1,
      .on_step = [&](const StepInfo&) { before.push_back(saves.count()); },
      .on_epoch = [&](const EpochInfo&) { before.push_back(saves.count()); }});
  EXPECT_THAT(before, ElementsAre(0, 1, 2, 3));
}

TEST_F(LoopTest, FailedStepIsNamedAndNotCounted) {
  try {
    go({.epochs = 9}, 5);
    FAIL() << "nothing was thrown";
  } catch (const StepError& e) {
    EXPECT_EQ(e.step(), 5);
    EXPECT_THAT(e.what(), AllOf(HasSubstr("step 5 (epoch 2, batch 2)"), HasSubstr("script fails")));
    EXPECT_NE(find_cause<InvalidArgument>(e), nullptr);
  }
  EXPECT_EQ(state_.step, 4);
  EXPECT_EQ(state_.position, (datasets::LoaderPosition{.epoch = 1, .batch = 1}));
  // Goes on with the batch that failed.
  EXPECT_EQ(go({.epochs = 2}).steps, 2);
}

TEST(LabelTest, OutOfRangeFailsTheStepAndKeepsTheWeights) {
  SmallRun r(2, 1, kClasses + 1);
  const Numbers before = weights_of(r);
  try {
    r.go({.epochs = 1});
    FAIL() << "nothing was thrown";
  } catch (const StepError& e) {
    EXPECT_EQ(e.step(), 1);
    EXPECT_THAT(e.what(),
                AllOf(HasSubstr("label"), HasSubstr("3"), HasSubstr(name(testing::device_type()))));
  }
  EXPECT_THAT(differing(weights_of(r), before), IsEmpty());
  EXPECT_EQ(r.state.step, 0);
}

TEST(AccuracyTest, IsTheShareOfRowsWhoseLargestLogitIsTheLabel) {
  const Tensor logits = tensor<double>({1, 0, 0, 0, 2, 1, 0, 1, 3, -1, -2, -3}).reshape({4, 3});
  EXPECT_EQ(score_logits(logits, tensor<std::int64_t>({0, 1, 2, 0})).correct, 4);
  EXPECT_EQ(score_logits(logits, tensor<std::int64_t>({0, 2, 2, 1})).correct, 2);
  EXPECT_EQ(score_logits(logits, tensor<std::int64_t>({0, 1, 2, 0}).to(cpus(2)[1])).correct, 4);
  const Score score = score_logits(zeros({4, 3}), tensor<std::int64_t>({0, 1, 2, 0}));
  EXPECT_EQ(score.answers, 4);
  EXPECT_EQ(score.weight, 4);
  EXPECT_NEAR(score.loss, 4 * std::log(3.0), 1e-6);
}

TEST(AccuracyTest, LeavesEachModuleInItsMode) {
  SmallRun r(3);
  nn::Module* frozen = r.task->module().modules().back();
  frozen->eval();
  measure(*r.task, r.test);
  EXPECT_TRUE(r.task->module().is_training());
  EXPECT_FALSE(frozen->is_training());
}

TEST(AccuracyTest, EqualsACountByHandAndChangesNothing) {
  SmallRun r(3);
  r.go({.epochs = 2});
  const Numbers before = numbers_of(r);
  const auto random = random_state();
  const Measure measured = measure(*r.task, r.test);
  EXPECT_THAT(differing(numbers_of(r), before), IsEmpty());
  EXPECT_EQ(random_state(), random);
  EXPECT_TRUE(r.task->module().is_training());

  Net net = nn::clone(static_cast<const Net&>(r.task->module()));
  net.eval();
  std::int64_t right = 0;
  while (const auto batch = r.test.next()) {
    const std::vector<double> logits = net(batch->at(0).to(get_default_device())).to_doubles();
    const std::vector<double> labels = batch->at(1).to_doubles();
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const auto row = logits.begin() + static_cast<std::ptrdiff_t>(kClasses * i);
      right +=
          std::max_element(row, row + kClasses) - row == static_cast<std::ptrdiff_t>(labels[i]);
    }
  }
  EXPECT_DOUBLE_EQ(measured.accuracy, static_cast<double>(right) / kRows);
}

}  // namespace
}  // namespace tandem::training::test
