// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/sim/step_clock.hpp"

#include <cstddef>
#include <map>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/core/error.hpp"
#include "tandem/data/data_loader.hpp"
#include "tandem/nn/activation.hpp"
#include "tandem/nn/linear.hpp"
#include "tandem/nn/sequential.hpp"
#include "tandem/ops/loss.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/parallel/data_parallel.hpp"
#include "tandem/sim/configure.hpp"
#include "tandem/sim/presets.hpp"
#include "tandem/tensor/factories.hpp"

#include "sim/restored_devices.hpp"

namespace tandem::sim {
namespace {

using parallel::Mode;
using profile::Duration;
using profile::StepRecord;

/// A model whose forward is long enough to hide what the last step still sends.
class Steps {
 public:
  explicit Steps(Mode mode)
      : machine_(configure_cluster(preset("a100-80x8"), 4)),
        net_(nn::Linear(2048, 2048), nn::ReLU(), nn::Linear(2048, 2048)),
        optimizer_((net_.to(machine_.gpus.front()), net_.named_parameters())),
        dp_(net_, {.devices = machine_.gpus, .mode = mode}),
        batch_{randn({8192, 2048}, {.device = machine_.host}),
               randint(0, 2048, {8192}).to(machine_.host)} {}

  void step() {
    dp_.step(
        batch_,
        [](Net& net, const datasets::Batch& part) {
          return cross_entropy_sum(net(part.at(0)), part.at(1));
        },
        &optimizer_);
  }
  /// How long so many steps take, recorded as one.
  Duration of(int steps) {
    const StepRecord record = profile::record([&] {
      for (int i = 0; i < steps; ++i)
        step();
    });
    return simulate(record, machine_.cluster, machine_.gpus).duration;
  }
  const ClusterDevices& machine() const noexcept { return machine_; }

 private:
  using Net = nn::Sequential<nn::Linear, nn::ReLU, nn::Linear>;
  testing::RestoredDevices restored_;  // after all that is on them has gone
  ClusterDevices machine_;
  Net net_;
  optim::AdamW optimizer_;
  parallel::DataParallel<Net> dp_;
  datasets::Batch batch_;
};

TEST(StepClock, AStepIsWhatOneMoreTakes) {
  for (const Mode mode : {Mode::sharded, Mode::ddp, Mode::fully_sharded}) {
    Steps steps(mode);
    steps.step();
    steps.step();
    const Duration one_more = steps.of(3) - steps.of(2);
    StepClock clock(steps.machine().cluster, steps.machine().gpus);
    const Duration alone = clock.time([&] { steps.step(); });
    EXPECT_EQ(alone, clock.last().duration);
    for (int i = 0; i < 2; ++i) {
      const Duration next = clock.time([&] { steps.step(); });
      EXPECT_NEAR(static_cast<double>(next.count()), static_cast<double>(one_more.count()), 2)
          << "in nanoseconds, rounded, in mode " << static_cast<int>(mode);
    }
    if (mode == Mode::sharded) {
      EXPECT_LT(one_more, alone) << "updated parameters go out beside the next forward";
    }
  }
}

TEST(StepClock, SharesAreGatheredWhenTheStepBeforeHasUpdatedThem) {
  Steps steps(Mode::fully_sharded);
  steps.step();
  profile::StepRecorder recorder;
  std::vector<StepRecord> records;
  for (int i = 0; i < 2; ++i) {
    const Subscription subscription(recorder);
    steps.step();
    records.push_back(recorder.take());
  }
  const FollowedStep both =
      simulate_after(records[0], records[1], steps.machine().cluster, steps.machine().gpus);
  EXPECT_EQ(both.end, both.both.duration);
  std::map<Device, Duration> updated;  // when the first share of a device was, in the first step
  for (const profile::WorkSpan& span : both.both.work) {
    if (span.kind == Work::Kind::optimizer) updated.try_emplace(span.device, span.end);
  }
  ASSERT_EQ(updated.size(), 4U);
  int gathered = 0;
  const auto last = static_cast<std::size_t>(both.both.transfers.size() / 2);
  for (std::size_t i = last; i < both.both.transfers.size(); ++i) {
    const profile::Transfer& moved = both.both.transfers[i];
    if (moved.exchange != 0 || moved.phase != Phase::replicate) continue;
    EXPECT_GE(moved.begin, updated.at(moved.source));
    ++gathered;
  }
  EXPECT_GT(gathered, 0);
}

TEST(StepClock, AfterAFailedStepTheNextIsTheFirst) {
  Steps steps(Mode::ddp);
  steps.step();
  StepClock clock(steps.machine().cluster, steps.machine().gpus);
  const Duration first = clock.time([&] { steps.step(); });
  EXPECT_THROW(clock.time([&] {
    steps.step();
    throw Error("no more data");
  }),
               Error);
  EXPECT_EQ(clock.time([&] { steps.step(); }), first);
  EXPECT_EQ(clock.last().duration, first);
}

}  // namespace
}  // namespace tandem::sim
