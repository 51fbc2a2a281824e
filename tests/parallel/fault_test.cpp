// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/fault.hpp"

#include <atomic>
#include <memory>
#include <string_view>

#include <gmock/gmock.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/nn/replicate.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/parallel/replica_error.hpp"
#include "tandem/runtime/dispatch.hpp"

#include "devices.hpp"
#include "parallel/nets.hpp"

// Every piece of work of a step fails once. Before the vote: a typed error, nothing has changed,
// the next step is right. After it: an error that says what to do, and no further step.
namespace tandem::parallel::test {
namespace {

using ::testing::HasSubstr;

constexpr int kDevices = 2;
constexpr int kMostWorks = 2000;

struct Injected : std::runtime_error {
  Injected() : std::runtime_error("injected") {}
};

/// A module, its optimizer and its replicas, one step old.
struct Training {
  explicit Training(Mode mode) {
    dp = std::make_unique<DataParallel<NormMlp>>(
        net,
        DataParallelOptions{.devices = devices(kDevices), .mode = mode, .chunk_sizes = {4, 9}});
    step();
  }
  double step() { return dp->step(batch, kLoss, &optimizer).loss; }

  NormMlp net = [] {
    manual_seed(8);
    return NormMlp();
  }();
  optim::AdamW optimizer{net.named_parameters(), {.lr = 0.01}};
  Batch batch = make_batch(13, 2, DType::f64, false);
  std::unique_ptr<DataParallel<NormMlp>> dp;
};

struct State {
  Values values;
  std::map<std::string, std::vector<double>> optimizer;
  std::uint64_t forwards = 0;
  std::vector<std::size_t> in_use;

  friend bool operator==(const State&, const State&) = default;
};

State state_of(Training& run) {
  State state{values_of(run.net), {}, default_generator().forwards().load(), {}};
  const optim::OptimizerState saved = run.optimizer.state_dict();
  for (const auto& [name, x] : saved.tensors)
    state.optimizer[name] = x.to_doubles();
  for (const auto& [name, number] : saved.numbers)
    state.optimizer[name] = {number};
  for (int d = 0; d < kDevices; ++d)
    state.in_use.push_back(logical_device(testing::device(d)).memory_stats().in_use);
  return state;
}

class Faults : public ::testing::TestWithParam<Mode> {};

TEST_P(Faults, EachPieceOfWorkOfAStepFailsOnce) {
  double right = 0;  // the loss of the step that follows
  {
    Training other(GetParam());
    right = other.step();
  }
  auto run = std::make_unique<Training>(GetParam());
  run->optimizer.zero_grad();
  const State before = state_of(*run);
  int rolled_back = 0, poisoned = 0;
  for (int k = 1; k < kMostWorks; ++k) {
    std::atomic<int> left{k};
    bool failed = true;
    try {
      const WorkFaultScope scope([&](const Work& work, Device) {
        // A vote has no work that could fail: it touches no memory.
        if (work.name != std::string_view("barrier") && left.fetch_sub(1) == 1) throw Injected();
      });
      run->step();
      failed = false;
    } catch (const ReplicaError& e) {
      EXPECT_NE(find_cause<Injected>(e), nullptr) << "work " << k << ": " << e.what();
      run->optimizer.zero_grad();
      State after = state_of(*run);
      EXPECT_EQ(after.values, before.values) << "work " << k << ": " << e.what();
      EXPECT_EQ(after.optimizer, before.optimizer) << "work " << k;
      EXPECT_EQ(after.forwards, before.forwards) << "work " << k;
      EXPECT_EQ(after.in_use, before.in_use) << "work " << k;
      ++rolled_back;
      continue;
    } catch (const Injected&) {
      try {
        run->step();
        ADD_FAILURE() << "work " << k << " failed after the vote, and the next step went on";
      } catch (const InvalidArgument& e) {
        EXPECT_THAT(e.what(), HasSubstr("restore the checkpoint")) << "work " << k;
      }
      run = std::make_unique<Training>(GetParam());
      run->optimizer.zero_grad();
      default_generator().forwards().store(before.forwards);
      ++poisoned;
      continue;
    }
    EXPECT_FALSE(failed);
    break;  // the step has fewer pieces of work: none failed
  }
  EXPECT_GT(rolled_back, 50);
  EXPECT_GT(poisoned, 0);
  // After so many failures a step is what it would have been.
  run = std::make_unique<Training>(GetParam());
  EXPECT_EQ(run->step(), right);
}

INSTANTIATE_TEST_SUITE_P(All, Faults, ::testing::ValuesIn(kModes), [](const auto& instance) {
  return std::string(name(instance.param));
});

}  // namespace
}  // namespace tandem::parallel::test
