// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// A step fails at every point where it can: each kernel and transfer, each allocation, and each
// function of the user's. Until the replicas have agreed to the update, the error names the
// replica, nothing has changed, and the next step is that of one device.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <ATen/Context.h>
#include <gmock/gmock.h>

#include "tandem/core/check.hpp"
#include "tandem/libtorch/devices.hpp"
#include "tandem/libtorch/optimizer.hpp"
#include "tandem/parallel/replica_error.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/runtime/fault.hpp"
#include "tandem/runtime/runtime.hpp"

#include "failing_allocator.hpp"
#include "libtorch/models.hpp"
#include "libtorch/test_devices.hpp"
#include "thrown_text.hpp"

namespace tandem::libtorch::test {
namespace {

using parallel::Mode;
using parallel::ReplicaError;
using tandem::testing::thrown_text;
using ::testing::HasSubstr;

constexpr int kFaultDevices = 3;
constexpr int kMostPoints = 4000;
constexpr std::int64_t kFaultRows = 13;

struct InjectedFault : std::runtime_error {
  InjectedFault() : std::runtime_error("injected") {}
};

/// The squared error of a loss that also draws numbers, on the device and on the host.
constexpr auto noisy_error = [](auto& net, const Batch& batch) {
  const at::Tensor noise = torch::rand_like(batch.x) + torch::rand({1}, torch::kDouble).item();
  return torch::mse_loss(net.forward(batch.x + noise * 0), batch.y);
};

/// What an optimizer and its plain twin are.
struct SharedAdamW {
  using Optimizer = libtorch::Optimizer<torch::optim::AdamW>;
  using Plain = torch::optim::AdamW;
  static auto options() { return torch::optim::AdamWOptions(0.01).eps(0.1); }
};
struct PlainAdam {
  using Optimizer = torch::optim::Adam;
  using Plain = torch::optim::Adam;
  static auto options() { return torch::optim::AdamOptions(0.01).eps(0.1); }
};
struct PlainSgd {
  using Optimizer = torch::optim::SGD;
  using Plain = torch::optim::SGD;
  static auto options() { return torch::optim::SGDOptions(0.01).momentum(0.9); }
};

/// What a failed step must leave as it was.
struct StepState {
  std::vector<at::Tensor> tensors;  ///< parameters, buffers, and states of generators
  std::string optimizer;            ///< as torch::save writes it
  std::vector<std::size_t> in_use;  ///< bytes, by device
};

/// All generators, the host's first.
std::vector<at::Generator> all_generators() {
  std::vector<at::Generator> all{at::globalContext().defaultGenerator(at::kCPU)};
  for (const Device d : test_devices(kFaultDevices))
    all.push_back(at::globalContext().defaultGenerator(torch_device(d)));
  return all;
}

/// One device and several, a step old, with one batch.
template <class Kind>
struct FaultyTraining {
  explicit FaultyTraining(Mode m) : mode(m) {
    torch::manual_seed(4);
    std::tie(one, many) = twins<NormedCnn>();
    batch = NormedCnnImpl::batch(kFaultRows);
    plain = std::make_unique<typename Kind::Plain>(one->parameters(), Kind::options());
    optimizer = std::make_unique<typename Kind::Optimizer>(many->parameters(), Kind::options());
    dp = std::make_unique<DataParallel<NormedCnnImpl>>(
        many,
        parallel::DataParallelOptions{
            .devices = test_devices(kFaultDevices), .mode = mode, .chunk_sizes = {4, 1, 8}});
    step();
    step_alone();
  }
  void step() { dp->step(batch, noisy_error, *optimizer); }
  template <class Loss>
  void step(const Loss& loss) {
    dp->step(batch, loss, *optimizer);
  }
  void step_alone() {
    plain->zero_grad();
    squared_error(*one, batch).backward();
    plain->step();
  }
  StepState state() {
    optimizer->zero_grad();
    StepState now;
    for (const auto& list : {many->parameters(), many->buffers()})
      for (const at::Tensor& x : list)
        now.tensors.push_back(x.detach().cpu().clone());
    for (at::Generator& generator : all_generators())
      now.tensors.push_back(generator.get_state());
    std::stringstream file;
    torch::save(*optimizer, file);  // which leaves the optimizer a copy of the shared state
    now.optimizer = file.str();
    now.in_use = in_use();
    return now;
  }
  std::vector<std::size_t> in_use() const {
    std::vector<std::size_t> bytes;
    for (const Device d : dp->devices())
      bytes.push_back(logical_device(d).memory_stats().in_use);
    return bytes;
  }
  void expect_same(const StepState& before, const std::string& point) {
    const StepState after = state();
    for (std::size_t i = 0; i < before.tensors.size(); ++i)
      EXPECT_TRUE(torch::equal(after.tensors[i], before.tensors[i])) << point << ": tensor " << i;
    EXPECT_TRUE(after.optimizer == before.optimizer) << point << ": the optimizer's state";
    // A thread of PyTorch's engine lets go of its last node after backward has returned.
    for (int ms = 0; ms < 2000 && in_use() != before.in_use; ++ms)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(in_use(), before.in_use) << point;
  }
  /// The next step is that of one device.
  void expect_right_step() {
    step();
    step_alone();
    EXPECT_LE(difference(*one, *many), 1e-12);
    EXPECT_LE(buffer_difference(*one, *many), 1e-12);
  }

  Mode mode;
  NormedCnn one{nullptr}, many{nullptr};
  Batch batch;
  std::unique_ptr<typename Kind::Plain> plain;
  std::unique_ptr<typename Kind::Optimizer> optimizer;
  std::unique_ptr<DataParallel<NormedCnnImpl>> dp;
};

/// The error names a replica and its rows, and has the cause nested.
template <class Cause>
void expect_described(const ReplicaError& e, const std::string& point) {
  const std::vector<RowRange> rows{{0, 4}, {4, 5}, {5, kFaultRows}};
  EXPECT_NE(find_cause<Cause>(e), nullptr) << point << ": " << e.what();
  ASSERT_LT(static_cast<std::size_t>(e.replica), rows.size());
  EXPECT_EQ(e.rows, rows[static_cast<std::size_t>(e.replica)]) << point;
  EXPECT_EQ(e.device.index, e.replica) << point;
  EXPECT_NE(e.phase, Phase::none) << point;
}

class FailedStepTest : public ::testing::TestWithParam<Mode> {};

/// A step in which the `nth` piece of work fails, from 1. @return  what the work is called; "": the
/// step has fewer pieces
template <class Training>
std::string step_with_fault(Training& run, int nth, Phase phase) {
  std::atomic<int> left{nth};
  std::string failed;
  const WorkFaultScope scope([&](const Work& work, Device) {
    if (phase != Phase::none && context().phase != phase) return;
    if (left.fetch_sub(1) != 1) return;
    failed = work.name;
    throw InjectedFault();
  });
  try {
    run.step();
  } catch (...) {
    EXPECT_NE(failed, "");
    throw;
  }
  EXPECT_EQ(failed, "");
  return failed;
}

/// Each piece of work fails once, until the replicas have agreed to the update.
template <class Kind>
void fail_each_work(Mode mode) {
  FaultyTraining<Kind> run(mode);
  const StepState before = run.state();
  int points = 0;
  for (bool agreed = false; !agreed && points < kMostPoints;) {
    const std::string point = tandem::detail::concat(name(mode), ", work ", points + 1);
    try {
      step_with_fault(run, points + 1, Phase::none);
      FAIL() << point << ": nothing has failed";
    } catch (const ReplicaError& e) {
      expect_described<InjectedFault>(e, point);
      run.expect_same(before, point);
      ++points;
    } catch (const InjectedFault&) {
      agreed = true;
    }
  }
  EXPECT_GE(points, 50);
  // After as many failures the next step is right.
  FaultyTraining<Kind> next(mode);
  next.state();
  for (int k = 1; k <= points; k += 17)
    EXPECT_THROW(step_with_fault(next, k, Phase::none), ReplicaError);
  next.expect_right_step();
}

TEST_P(FailedStepTest, EachPieceOfWorkWithASharedUpdate) {
  fail_each_work<SharedAdamW>(GetParam());
}

TEST_P(FailedStepTest, EachPieceOfWorkWithPyTorchsAdam) {
  fail_each_work<PlainAdam>(GetParam());
}

TEST_P(FailedStepTest, EachPieceOfWorkWithPyTorchsSgd) {
  fail_each_work<PlainSgd>(GetParam());
}

TEST_P(FailedStepTest, AfterTheVoteTheErrorSaysWhatToDo) {
  int points = 0;
  for (bool failed = true; failed; ++points) {
    FaultyTraining<SharedAdamW> run(GetParam());
    failed = false;
    try {
      step_with_fault(run, points + 1, Phase::update);
    } catch (const InjectedFault&) {
      failed = true;
      EXPECT_THAT(thrown_text([&] { run.step(); }), HasSubstr("restore the checkpoint"));
    }
  }
  EXPECT_GT(points, 1);
}

TEST_P(FailedStepTest, AnOptimizerOfPyTorchThatFailsIsTheFirstReplicas) {
  struct Breaking : torch::optim::SGD {
    using SGD::SGD;
    at::Tensor step(LossClosure = nullptr) override { throw InjectedFault(); }
  };
  FaultyTraining<PlainSgd> run(GetParam());
  Breaking breaking(run.many->parameters(), PlainSgd::options());
  try {
    run.dp->step(run.batch, squared_error, breaking);
    ADD_FAILURE() << "nothing has failed";
  } catch (const ReplicaError& e) {
    expect_described<InjectedFault>(e, "update");
    EXPECT_EQ(e.replica, 0);
    EXPECT_EQ(e.phase, Phase::update);
    EXPECT_THAT(e.what(), HasSubstr("its update may be made in part; restore a checkpoint"));
  }
  run.one->forward(run.batch.x);  // the buffers have come further
  run.expect_right_step();
}

/// Where a function of the user's throws.
enum class UserPoint { before_forward, after_forward, output_hook, input_hook, parameter_hook };

/// The loss of a replica that throws on device `bad`.
auto failing_loss(UserPoint at, int bad) {
  return [at, bad](NormedCnnImpl& net, const Batch& batch) {
    const bool fails = batch.x.device().index() == bad;
    const auto fail = [] { throw InjectedFault(); };
    const auto hook = [fail](const at::Tensor&) { fail(); };
    if (fails && at == UserPoint::before_forward) fail();
    const at::Tensor x = batch.x.detach().requires_grad_();
    if (fails && at == UserPoint::input_hook) x.register_hook(hook);
    if (fails && at == UserPoint::parameter_hook) {
      const at::Tensor weight = net.norm->weight.view({-1});  // the hook ends with this graph
      weight.register_hook(hook);
      return torch::mse_loss(net.forward(x), batch.y) + weight.sum();
    }
    const at::Tensor y = net.forward(x);
    if (fails && at == UserPoint::after_forward) fail();
    if (fails && at == UserPoint::output_hook) y.register_hook(hook);
    return torch::mse_loss(y, batch.y);
  };
}

TEST_P(FailedStepTest, EachFunctionOfTheUsersOnEachDevice) {
  FaultyTraining<SharedAdamW> run(GetParam());
  const StepState before = run.state();
  for (const auto at : {UserPoint::before_forward,
                        UserPoint::after_forward,
                        UserPoint::output_hook,
                        UserPoint::input_hook,
                        UserPoint::parameter_hook}) {
    for (int d = 0; d < kFaultDevices; ++d) {
      const std::string point =
          "function " + std::to_string(static_cast<int>(at)) + " on device " + std::to_string(d);
      try {
        run.step(failing_loss(at, d));
        ADD_FAILURE() << point << " did not throw";
      } catch (const ReplicaError& e) {
        expect_described<InjectedFault>(e, point);
        EXPECT_EQ(e.replica, d) << point;
        EXPECT_EQ(e.phase, at <= UserPoint::after_forward ? Phase::forward : Phase::backward)
            << point;
      }
      run.expect_same(before, point);
    }
  }
  run.expect_right_step();
}

TEST_P(FailedStepTest, EachAllocationOfEachDevice) {
  FaultyTraining<SharedAdamW> run(GetParam());
  std::atomic<int> left{INT32_MAX};
  int points = 0;
  for (const Device device : run.dp->devices()) {
    const StepState before = run.state();
    LogicalDevice& logical = logical_device(device);
    logical.set_wrapper([&](Allocator& inner) {
      return std::make_unique<tandem::testing::FailingAllocator>(inner, left);
    });
    bool failed = true;
    for (int k = 1; failed && k < kMostPoints; ++k) {
      const std::string point = to_string(device) + ", allocation " + std::to_string(k);
      left = k;
      failed = false;
      try {
        run.step();
      } catch (const ReplicaError& e) {
        failed = true;
        left = INT32_MAX;
        expect_described<OutOfMemory>(e, point);
        run.expect_same(before, point);
        ++points;
      }
    }
    left = INT32_MAX;
    logical.set_wrapper(nullptr);
    EXPECT_FALSE(failed);
  }
  EXPECT_GE(points, 50);
}

TEST_P(FailedStepTest, WithoutAnUpdateEarlierGradientsStay) {
  FaultyTraining<PlainSgd> run(GetParam());
  run.state();
  run.dp->step(run.batch, squared_error);
  run.plain->zero_grad();
  squared_error(*run.one, run.batch).backward();
  std::vector<at::Tensor> before;
  for (const at::Tensor& p : run.many->parameters())
    before.push_back(p.grad().clone());
  for (const auto at : {UserPoint::after_forward, UserPoint::input_hook}) {
    EXPECT_THROW(run.dp->step(run.batch, failing_loss(at, 1)), ReplicaError);
    for (std::size_t i = 0; i < before.size(); ++i)
      EXPECT_TRUE(torch::equal(run.many->parameters()[i].grad(), before[i])) << i;
  }
  run.dp->step(run.batch, squared_error);
  squared_error(*run.one, run.batch).backward();
  EXPECT_LE(gradient_difference(*run.one, *run.many), 1e-12);
}

INSTANTIATE_TEST_SUITE_P(All,
                         FailedStepTest,
                         ::testing::Values(Mode::classic, Mode::server, Mode::sharded, Mode::ddp),
                         [](const auto& instance) { return std::string(name(instance.param)); });

}  // namespace
}  // namespace tandem::libtorch::test
