// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Hooks on the gradients of a module's own parameters, in both ways to train, against one device.

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include "tandem/libtorch/devices.hpp"
#include "tandem/libtorch/optimizer.hpp"
#include "tandem/parallel/replica_error.hpp"

#include "libtorch/models.hpp"
#include "libtorch/modes.hpp"
#include "libtorch/test_devices.hpp"
#include "thrown_text.hpp"

namespace tandem::libtorch::test {
namespace {

using parallel::Mode;
using tandem::testing::thrown_text;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::int64_t kHookRows = 11;

/// The gradients that the hooks of a weight and of a bias have seen.
struct Log {
  std::vector<at::Tensor> weight, bias;
};

double log_difference(const Log& a, const Log& b) {
  return std::max(difference(a.weight, b.weight), difference(a.bias, b.bias));
}

/// A hook that notes the gradient, and one behind it that halves it and cuts it off.
void watch(MlpImpl& net, Log& log) {
  net.first->weight.register_hook([&log](const at::Tensor& g) {
    EXPECT_FALSE(c10::GradMode::is_enabled());
    log.weight.push_back(g);  // not a copy: the gradient stays what it was
  });
  net.first->weight.register_hook([](const at::Tensor& g) { return (g * 0.5).clamp(-0.01, 0.01); });
  net.second->bias.register_hook([&log](const at::Tensor& g) { log.bias.push_back(g); });
}

TEST(ParameterHooksTest, OfGatheredOutputsSeeTheWholeGradientOnce) {
  for (const int devices : {1, 2, 3}) {
    torch::manual_seed(0);
    auto [one, many] = twins<Mlp>();
    Log of_one, of_many;
    watch(*one, of_one);
    watch(*many, of_many);
    DataParallel dp(many, {.devices = test_devices(devices)});
    for (std::size_t step = 1; step <= 3; ++step) {  // gradients are added to the earlier ones
      const Batch batch = MlpImpl::batch(kHookRows);
      squared_error(*one, batch).backward();
      torch::mse_loss(dp(batch.x), batch.y).backward();
      EXPECT_EQ(of_many.weight.size(), step);
      EXPECT_EQ(of_many.bias.size(), step);
      EXPECT_LE(gradient_difference(*one, *many), 1e-12) << devices;
    }
    EXPECT_LE(log_difference(of_one, of_many), 1e-12);
  }
}

/// Called after a gradient was accumulated: notes the sum, and then drops it.
class DropHook final : public torch::autograd::PostAccumulateGradHook {
 public:
  explicit DropHook(std::vector<at::Tensor>& log) : log_(log) {}
  void operator()(const at::Tensor& leaf) override {
    log_.push_back(leaf.grad().clone());
    if (log_.size() == 2) leaf.mutable_grad().reset();
  }

 private:
  std::vector<at::Tensor>& log_;
};

void drop_gradients(MlpImpl& net, std::vector<at::Tensor>& log) {
  torch::autograd::impl::set_post_acc_grad_hooks(net.first->weight,
                                                 std::make_unique<DropHook>(log));
}

TEST(ParameterHooksTest, AfterAccumulationRunOncePerBackwardOfGatheredOutputs) {
  torch::manual_seed(0);
  auto [one, many] = twins<Mlp>();
  std::vector<at::Tensor> of_one, of_many;
  drop_gradients(*one, of_one);
  drop_gradients(*many, of_many);
  DataParallel dp(many, {.devices = test_devices(3)});
  for (std::size_t step = 1; step <= 3; ++step) {
    const Batch batch = MlpImpl::batch(kHookRows);
    squared_error(*one, batch).backward();
    torch::mse_loss(dp(batch.x), batch.y).backward();
    EXPECT_EQ(of_many.size(), step);
    EXPECT_EQ(many->first->weight.grad().defined(), step != 2);
    EXPECT_LE(gradient_difference(*one, *many), 1e-12);
  }
  EXPECT_LE(difference(of_one, of_many), 1e-12);
}

TEST(ParameterHooksTest, AfterAccumulationAreRefusedByAStep) {
  Mlp net;
  std::vector<at::Tensor> log;
  drop_gradients(*net, log);
  DataParallel dp(net, {.devices = test_devices(2)});
  const Batch batch{torch::ones({4, 6}), torch::ones({4, 3})};
  EXPECT_THAT(thrown_text([&] { dp.step(batch, squared_error); }),
              AllOf(HasSubstr("'first.weight' has a hook"), HasSubstr("use register_hook")));
  EXPECT_TRUE(log.empty());
  torch::autograd::impl::set_post_acc_grad_hooks(net->first->weight, nullptr);
  EXPECT_NO_THROW(dp.step(batch, squared_error));
}

class StepHooksTest : public ::testing::TestWithParam<std::tuple<int, Mode>> {};

TEST_P(StepHooksTest, SeeAndChangeTheSumBeforeTheUpdate) {
  const auto [devices, mode] = GetParam();
  torch::manual_seed(0);
  auto [one, many] = twins<Mlp>();
  Log of_one, of_many;
  watch(*one, of_one);
  watch(*many, of_many);
  const auto options = torch::optim::SGDOptions(0.1).momentum(0.9);
  torch::optim::SGD first(one->parameters(), options);
  Optimizer<torch::optim::SGD> shared(many->parameters(), options);
  torch::optim::SGD own(many->parameters(), options);
  for (const std::int64_t accumulate : {1, 3}) {
    DataParallel dp(many,
                    {.devices = test_devices(devices), .mode = mode, .accumulate = accumulate});
    for (int step = 0; step < 3; ++step) {
      const Batch batch = MlpImpl::batch(kHookRows);
      first.zero_grad();
      squared_error(*one, batch).backward();
      first.step();
      dp.step(batch, squared_error, shared);
      EXPECT_EQ(of_many.weight.size(), of_one.weight.size());
      EXPECT_LE(difference(*one, *many), 1e-12) << accumulate << step;
    }
    for (int step = 0; step < 2; ++step) {  // added to gradients that are there
      const Batch batch = MlpImpl::batch(kHookRows);
      if (step == 0) {
        one->zero_grad();
        many->zero_grad();
      }
      squared_error(*one, batch).backward();
      dp.step(batch, squared_error);
      EXPECT_LE(gradient_difference(*one, *many), 1e-12) << accumulate << step;
    }
  }
  EXPECT_LE(log_difference(of_one, of_many), 1e-12) << "a gradient that a hook has kept";
}

INSTANTIATE_TEST_SUITE_P(All,
                         StepHooksTest,
                         ::testing::Combine(::testing::Values(1, 3), ::testing::ValuesIn(kModes)),
                         [](const auto& test) {
                           return std::to_string(std::get<0>(test.param)) + "_" +
                                  parallel::name(std::get<1>(test.param));
                         });

TEST(StepHooksOfTest, AModuleOnTheFirstDeviceGetItsTensors) {
  register_test_devices();
  Mlp net;
  net->to(torch_device(test_device(0)));
  DataParallel dp(net, {.devices = test_devices(2)});
  std::string place;
  net->first->weight.register_hook([&](const at::Tensor& g) { place = g.device().str(); });
  dp.step(Batch{torch::ones({4, 6}), torch::ones({4, 3})}, squared_error);
  EXPECT_EQ(place, torch_device(test_device(0)).str());
}

TEST(StepHooksOfTest, ParametersComeAndGoAndMayChangeInPlace) {
  torch::manual_seed(0);
  auto [one, many] = twins<Mlp>();
  DataParallel dp(many, {.devices = test_devices(2)});
  const auto expect_equal = [&, &one = one, &many = many] {
    const Batch batch = MlpImpl::batch(kHookRows);
    one->zero_grad();
    many->zero_grad();
    squared_error(*one, batch).backward();
    dp.step(batch, squared_error);
    EXPECT_LE(gradient_difference(*one, *many), 1e-12);
  };
  expect_equal();
  const auto triple = [](at::Tensor g) {
    g.mul_(3);
    return g;
  };
  const unsigned first = one->second->weight.register_hook(triple);
  const unsigned second = many->second->weight.register_hook(triple);
  expect_equal();
  one->second->weight.remove_hook(first);
  many->second->weight.remove_hook(second);
  expect_equal();
}

TEST(StepHooksOfTest, AFailureHasNoEffect) {
  torch::manual_seed(0);
  auto [before, net] = twins<Mlp>();
  DataParallel dp(net, {.devices = test_devices(2)});
  Optimizer<torch::optim::SGD> optimizer(net->parameters(), 0.1);
  const unsigned hook = net->first->weight.register_hook(
      [](const at::Tensor&) { throw std::runtime_error("no luck"); });
  const Batch batch = MlpImpl::batch(kHookRows);
  EXPECT_THAT(
      thrown_text<parallel::ReplicaError>([&] { dp.step(batch, squared_error, optimizer); }),
      AllOf(HasSubstr("no luck"), HasSubstr("backward")));
  EXPECT_EQ(difference(*before, *net), 0);
  net->first->weight.remove_hook(hook);
  EXPECT_NO_THROW(dp.step(batch, squared_error, optimizer));
  EXPECT_GT(difference(*before, *net), 0);
}

}  // namespace
}  // namespace tandem::libtorch::test
