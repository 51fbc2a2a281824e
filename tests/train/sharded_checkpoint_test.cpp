// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints of several files: that a run goes on from them, on other devices and in other modes,
// and what each device and the host hold meanwhile. The program's tests read the files without
// tandem (tests/cli/sharded_test.py).

#include "tandem/train/sharded_checkpoint.hpp"

#include <atomic>
#include <filesystem>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>

#include "failing_allocator.hpp"
#include "io/temp_dir.hpp"
#include "thrown_text.hpp"
#include "train/small_run.hpp"

namespace tandem::training::test {
namespace {

using parallel::Mode;
using tandem::testing::get;
using tandem::testing::thrown_text;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;
using ::testing::Values;

const optim::LRSchedule kSteps = optim::StepLR{.step_size = 2};
constexpr std::int64_t kSaved = 4, kMore = 5, kMostEpochs = 3;

SmallRun fresh(int devices, Mode mode, std::uint64_t seed = 1) {
  return SmallRun(devices, seed, kClasses, mode);
}

void save(const SmallRun& r, const std::string& folder, std::int64_t files) {
  save_sharded_checkpoint(folder, r.task->module(), *r.optimizer, r.state, {.files = files});
}

/// Losses of the steps up to step `end` of the run.
std::vector<double> losses(SmallRun& r, std::int64_t end) {
  std::vector<double> all;
  r.go({.epochs = kMostEpochs, .steps = end, .on_step = [&](const StepInfo& info) {
          all.push_back(info.loss);
        }});
  return all;
}

void expect_losses(const std::vector<double>& own, const std::vector<double>& expected, bool bits) {
  ASSERT_EQ(own.size(), expected.size());
  for (std::size_t i = 0; i < own.size(); ++i)
    EXPECT_NEAR(own[i], expected[i], bits ? 0 : 1e-12) << "step " << i;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  return names;
}

/// Content by name.
std::map<std::string, std::string> contents_of(const std::string& folder) {
  std::map<std::string, std::string> all;
  for (const std::string& name : names_in(folder))
    all[name] = get((std::filesystem::path(folder) / name).string());
  return all;
}

class ShardedMoveTest : public ::testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(ShardedMoveTest, GoesOnWithOtherDevices) {
  const auto [saved_on, loaded_on] = GetParam();
  const tandem::testing::TempDir dir;
  std::vector<double> expected;
  {
    SmallRun whole = fresh(saved_on, Mode::fully_sharded);
    losses(whole, kSaved);
    save(whole, dir.file("run"), saved_on);
    expected = losses(whole, kSaved + kMore);
  }
  SmallRun rest = fresh(loaded_on, Mode::fully_sharded, 999);
  randn({5});
  rest.load(dir.file("run"));
  EXPECT_EQ(rest.state.step, kSaved);
  expect_losses(losses(rest, kSaved + kMore), expected, saved_on == loaded_on);
  EXPECT_EQ(dir.names().size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Devices,
                         ShardedMoveTest,
                         ::testing::Combine(Values(1, 2, 3, 4, 8), Values(1, 2, 3, 4, 8)));

enum class Form { file, folder };

class ShardedModeTest : public ::testing::TestWithParam<std::tuple<Form, Mode, Mode>> {};

TEST_P(ShardedModeTest, GoesOnInAnotherMode) {
  const auto [form, saved_in, loaded_in] = GetParam();
  const tandem::testing::TempDir dir;
  std::vector<double> expected;
  {
    SmallRun whole = fresh(3, saved_in);
    losses(whole, kSaved);
    if (form == Form::file)
      whole.save(dir.file("run"));
    else
      save(whole, dir.file("run"), 3);
    expected = losses(whole, kSaved + kMore);
  }
  SmallRun rest = fresh(3, loaded_in, 999);
  rest.load(dir.file("run"));
  expect_losses(losses(rest, kSaved + kMore), expected, true);  // all modes have the same bits
}

INSTANTIATE_TEST_SUITE_P(
    Into,
    ShardedModeTest,
    ::testing::Combine(Values(Form::file, Form::folder),
                       Values(Mode::ddp, Mode::sharded, Mode::sharded_gradients),
                       Values(Mode::fully_sharded)));
INSTANTIATE_TEST_SUITE_P(
    From,
    ShardedModeTest,
    ::testing::Combine(Values(Form::file, Form::folder),
                       Values(Mode::fully_sharded),
                       Values(Mode::ddp, Mode::sharded, Mode::sharded_gradients)));

TEST(ShardedCheckpoint, OneDeviceAndFullySharedExchangeFiles) {
  const tandem::testing::TempDir dir;
  for (const auto& [from, to] : {std::pair{1, 3}, std::pair{3, 1}}) {
    const auto mode = [](int devices) {
      return devices == 1 ? Mode::sharded : Mode::fully_sharded;
    };
    SmallRun whole = fresh(from, mode(from));
    losses(whole, kSaved);
    whole.save(dir.file("run"));
    const auto expected = losses(whole, kSaved + kMore);
    SmallRun rest = fresh(to, mode(to), 999);
    rest.load(dir.file("run"));
    expect_losses(losses(rest, kSaved + kMore), expected, false);
  }
}

/// A parameter whose channels are last in memory, and first in a file.
struct ChannelsLast : nn::Module {
  nn::Parameter weight{randn({4, 3, 5, 2}).contiguous(MemoryFormat::channels_last)};
  nn::Linear head{4, 2};
  Tensor forward(const Tensor& x) { return head(x) + weight.sum(); }
  TANDEM_MODULE(ChannelsLast, weight, head)
};

TEST(ShardedCheckpoint, KeepsValuesOfAnyLayout) {
  const tandem::testing::TempDir dir;
  const auto weighted = [](ChannelsLast& net, const Tensor& x) {
    return WeightedSum{net(x).sum(), ones_like(x).sum()};
  };
  for (const Mode mode : parallel::kModes) {
    ChannelsLast net;
    parallel::DataParallel dp(net, {.devices = cpus(3), .mode = mode});
    optim::Adam adam(net.named_parameters(), {.lr = 0.1});
    dp.step(randn({6, 4}), weighted, &adam);
    for (const std::string& path : {dir.file("file"), dir.file("folder")}) {
      if (path.ends_with("file"))
        save_checkpoint(path, net, adam, {.model = "net"});
      else
        save_sharded_checkpoint(path, net, adam, {.model = "net"}, {.files = 2});
      ChannelsLast other;
      parallel::DataParallel wrapper(other, {.devices = cpus(2), .mode = mode});
      optim::Adam other_adam(other.named_parameters(), {.lr = 0.1});
      load_checkpoint(path, other, other_adam, {.model = "net"});
      EXPECT_FALSE(other.weight.is_contiguous());
      EXPECT_EQ(other.weight.to_doubles(), net.weight.to_doubles()) << name(mode);
      const auto saved = adam.state_dict().tensors;
      const auto loaded = other_adam.state_dict().tensors;
      EXPECT_FALSE(saved.empty());
      for (const auto& [key, x] : saved)
        EXPECT_EQ(loaded.at(key).to_doubles(), x.to_doubles()) << name(mode) << ' ' << key;
    }
  }
}

class ShardedFolderTest : public ::testing::Test {
 protected:
  ShardedFolderTest() {
    losses(run_, kSaved);
    save(run_, folder_, 3);
  }
  std::string in(const std::string& name) const { return folder_ + "/" + name; }

  tandem::testing::TempDir dir_;
  const std::string folder_ = dir_.file("run");
  SmallRun run_ = fresh(3, Mode::fully_sharded);
};

TEST_F(ShardedFolderTest, RoundTripIsBitForBitAndEqualRunsGiveEqualFolders) {
  EXPECT_THAT(names_in(folder_),
              UnorderedElementsAre("model.safetensors.index.json",
                                   "model-00001-of-00003.safetensors",
                                   "model-00002-of-00003.safetensors",
                                   "model-00003-of-00003.safetensors",
                                   "optimizer.safetensors.index.json",
                                   "optimizer-00001-of-00003.safetensors",
                                   "optimizer-00002-of-00003.safetensors",
                                   "optimizer-00003-of-00003.safetensors"));
  SmallRun other = fresh(2, Mode::fully_sharded, 999);
  EXPECT_THAT(differing(numbers_of(other), numbers_of(run_)), Not(IsEmpty()));
  const auto random = random_state();
  other.load(folder_);
  EXPECT_THAT(differing(numbers_of(other), numbers_of(run_)), IsEmpty());
  EXPECT_EQ(random_state(), *run_.state.random);
  EXPECT_NE(random_state(), random);
  EXPECT_EQ(read_run_state(folder_).step, kSaved);
  save(other, dir_.file("again"), 3);
  EXPECT_EQ(contents_of(dir_.file("again")), contents_of(folder_));
  Net net;
  load_model(folder_ + "/", net);
  for (const auto& [name, x] : net.state_dict())
    EXPECT_EQ(x.to_doubles(), weights_of(run_).at(name)) << name;
}

TEST_F(ShardedFolderTest, HasAtMostOneFileForEachTensor) {
  SmallRun untrained(1);
  save(untrained, dir_.file("new"), 99'999);
  // Four parameters and three buffers of the batch norm; the optimizer has no state yet.
  const std::size_t tensors = untrained.task->module().state_dict().size();
  EXPECT_EQ(names_in(dir_.file("new")).size(), tensors + 2);
  SmallRun other = fresh(3, Mode::fully_sharded, 999);
  other.load(dir_.file("new"));
  EXPECT_THAT(differing(numbers_of(other), numbers_of(untrained)), IsEmpty());
  for (const std::int64_t files : {0, 100'000}) {
    EXPECT_THAT(thrown_text<InvalidArgument>([&] { save(run_, folder_, files); }),
                AllOf(HasSubstr("files is " + std::to_string(files)), HasSubstr("[1, 99999]")));
  }
}

TEST_F(ShardedFolderTest, AScheduleIsOnBothSidesOrOnNone) {
  optim::LRScheduler rates(*run_.optimizer, kSteps);
  rates.step();
  const RunState& state = run_.state;
  save_sharded_checkpoint(
      folder_, run_.task->module(), *run_.optimizer, state, {.files = 2}, &rates);
  SmallRun other = fresh(2, Mode::fully_sharded, 999);
  EXPECT_THAT(thrown_text<InvalidArgument>([&] { other.load(folder_); }),
              HasSubstr("its run has a schedule"));
  optim::LRScheduler again(*other.optimizer, kSteps);
  load_checkpoint(folder_, other.task->module(), *other.optimizer, state, &again);
  EXPECT_EQ(again.last_epoch(), 1);
}

TEST_F(ShardedFolderTest, ASaveReplacesTheFolderWithFewerFiles) {
  losses(run_, kSaved + 1);
  save(run_, folder_, 1);
  EXPECT_EQ(names_in(folder_).size(), 4U);
  EXPECT_EQ(read_run_state(folder_).step, kSaved + 1);
  EXPECT_THAT(dir_.names(), ElementsAre("run"));
}

/// Each allocation of a save fails once: the old checkpoint stays, and nothing is lost.
TEST_F(ShardedFolderTest, AnAllocationThatFailsLeavesTheOldCheckpoint) {
  const auto before = contents_of(folder_);
  losses(run_, kSaved + 1);
  const Numbers numbers = numbers_of(run_);
  std::atomic<int> left{INT32_MAX};
  const Device first = tandem::testing::device(0);
  logical_device(first).set_wrapper([&left](Allocator& inner) {
    return std::make_unique<tandem::testing::FailingAllocator>(inner, left);
  });
  int failed = 0;
  for (;; ++failed) {
    left = failed + 1;
    try {
      save(run_, folder_, 3);
      break;
    } catch (const OutOfMemory&) {
      EXPECT_EQ(contents_of(folder_), before);
      EXPECT_THAT(dir_.names(), ElementsAre("run"));
    }
  }
  logical_device(first).set_wrapper(nullptr);
  EXPECT_GE(failed, 2);  // a gather of each of both units with parameters, at least
  EXPECT_THAT(differing(numbers_of(run_), numbers), IsEmpty());
  EXPECT_EQ(read_run_state(folder_).step, kSaved + 1);
}

}  // namespace
}  // namespace tandem::training::test
