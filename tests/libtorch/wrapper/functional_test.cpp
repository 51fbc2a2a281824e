// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// The functions of torch::nn::parallel on virtual devices, against the module itself.

#include "tandem/libtorch/functional.hpp"

#include <sstream>
#include <stdexcept>
#include <thread>

#include <ATen/autocast_mode.h>
#include <gmock/gmock.h>

#include "tandem/libtorch/devices.hpp"
#include "tandem/parallel/replica_error.hpp"

#include "libtorch/models.hpp"
#include "libtorch/test_devices.hpp"
#include "thrown_text.hpp"

namespace tandem::libtorch::test {
namespace {

using tandem::testing::thrown_text;
using ::testing::AllOf;
using ::testing::HasSubstr;

const Device kFirst = test_device(0), kSecond = test_device(1);

class FunctionalTest : public ::testing::Test {
 protected:
  FunctionalTest() {
    register_test_devices();
    torch::manual_seed(0);
  }
};

double largest(const at::Tensor& x, const at::Tensor& y) {
  return (x.detach().cpu() - y.detach().cpu()).abs().max().item<double>();
}

TEST_F(FunctionalTest, CopiesGiveWhatTheModuleGivesAndItGetsTheirGradients) {
  auto [one, net] = twins<Mlp>();
  const Batch batch = MlpImpl::batch(4);
  for (const bool on_device : {false, true}) {
    if (on_device) net->to(torch_device(kFirst));
    one->zero_grad();
    net->zero_grad();
    std::vector<Mlp> copies = replicate(net, {kFirst, kSecond});
    ASSERT_EQ(copies.size(), 2u);
    for (int i = 0; i < 2; ++i) {
      const c10::Device device = torch_device(test_device(i));
      for (const at::Tensor& p : copies[static_cast<std::size_t>(i)]->parameters())
        EXPECT_EQ(p.device(), device);
      MlpImpl& copy = *copies[static_cast<std::size_t>(i)];
      const at::Tensor y = copy.forward(batch.x.to(device)), expected = one->forward(batch.x);
      EXPECT_LE(largest(y, expected), 1e-12);
      (y.sum() * (i + 1)).backward();
      (expected.sum() * (i + 1)).backward();
    }
    EXPECT_LE(gradient_difference(*one, *net), 1e-12);
    const torch::NoGradGuard off;
    copies[0]->first->weight.zero_();  // of the copy alone
    EXPECT_EQ(difference(*one, *net), 0);
  }
}

TEST_F(FunctionalTest, CopiesHaveModesBuffersAndTies) {
  struct NetImpl : torch::nn::Module {
    at::Tensor forward(const at::Tensor& x) {
      const at::Tensor h = torch::linear(torch::linear(x, weight), tied);
      return norm(torch::linear(h, tied_later)) * scale;
    }
    void tie() {
      parameters_.erase("tied_later");
      tied_later = register_parameter("tied_later", weight);
    }
    at::Tensor weight = register_parameter("weight", torch::randn({3, 3}));
    at::Tensor tied = register_parameter("tied", weight);
    at::Tensor tied_later = register_parameter("tied_later", torch::randn({3, 3}));
    at::Tensor scale = register_buffer("scale", torch::randn({3}).requires_grad_());
    torch::nn::BatchNorm1d norm = register_module("norm", torch::nn::BatchNorm1d(3));
  };
  const auto net = std::make_shared<NetImpl>();
  net->tie();  // as the constructor of a copy does not
  net->norm->eval();
  {
    const torch::NoGradGuard off;
    net->norm->running_mean.uniform_();
  }
  const auto copy = replicate(net, {kSecond}).front();
  EXPECT_TRUE(copy->is_training());
  EXPECT_FALSE(copy->norm->is_training());
  EXPECT_EQ(copy->norm->running_mean.device(), torch_device(kSecond));
  EXPECT_EQ(largest(copy->norm->running_mean, net->norm->running_mean), 0);
  EXPECT_EQ(copy->norm->num_batches_tracked.device(), torch_device(kSecond));
  const at::Tensor x = torch::randn({4, 3});
  copy->forward(x.to(torch_device(kSecond))).square().sum().backward();
  const std::vector<at::Tensor> made{net->weight.grad(), net->scale.grad()};
  net->weight.mutable_grad().reset();
  net->scale.mutable_grad().reset();
  net->forward(x).square().sum().backward();
  EXPECT_LE(largest(made[0], net->weight.grad()), 1e-5);
  EXPECT_LE(largest(made[1], net->scale.grad()), 1e-5);
}

TEST_F(FunctionalTest, CopiesAreSavedAndLoaded) {
  Mlp net, loaded;
  Mlp copy = replicate(net, {kFirst, kSecond})[1];
  std::stringstream file;
  torch::save(copy, file);
  torch::load(loaded, file);
  EXPECT_EQ(difference(*loaded, *net), 0);
}

TEST_F(FunctionalTest, ModulesRunOnTheDevicesOfTheirInputs) {
  Mlp host, first, second;
  first->to(torch_device(kFirst));
  second->to(torch_device(kSecond));
  const at::Tensor x = torch::randn({4, 6});
  const std::vector<at::Tensor> inputs{x, x.to(torch_device(kFirst)), x.to(torch_device(kSecond))};
  const std::vector<Mlp> modules{host, first, second};
  const auto outputs = parallel_apply(modules, inputs);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(outputs[i].device(), inputs[i].device());
    EXPECT_EQ(largest(outputs[i], Mlp(modules[i])->forward(inputs[i])), 0);
  }
  outputs[2].sum().backward();
  EXPECT_TRUE(second->first->weight.grad().defined());
}

TEST_F(FunctionalTest, EachDeviceHasAThreadAndGetsItsOutputs) {
  struct NetImpl : torch::nn::Module {
    at::Tensor forward(const at::Tensor& x) {
      thread = std::this_thread::get_id();
      current = torch::ones({1}, at::TensorOptions(torch_type())).device();
      return x.cpu();
    }
    std::thread::id thread;
    c10::Device current{at::kCPU};
  };
  const std::vector<c10::Device> places{
      torch_device(kSecond), at::kCPU, torch_device(kFirst), torch_device(kSecond)};
  std::vector<std::shared_ptr<NetImpl>> modules;
  std::vector<at::Tensor> inputs;
  for (const c10::Device place : places) {
    modules.push_back(std::make_shared<NetImpl>());
    inputs.push_back(torch::randn({2}).to(place));
  }
  const auto outputs = parallel_apply(modules, inputs);
  for (std::size_t i = 0; i < places.size(); ++i) {
    EXPECT_EQ(outputs[i].device(), places[i]) << i;
    EXPECT_EQ(largest(outputs[i], inputs[i]), 0) << i;
    EXPECT_EQ(modules[i]->current, places[i].is_cpu() ? torch_device(kFirst) : places[i]) << i;
  }
  EXPECT_EQ(modules[0]->thread, modules[3]->thread);
  const bool is_on_cpu0 = test_device(0).type == DeviceType::cpu;  // as the host's thread is
  EXPECT_EQ(modules[1]->thread == modules[2]->thread, is_on_cpu0);
  EXPECT_NE(modules[0]->thread, modules[1]->thread);
  EXPECT_NE(modules[1]->thread, std::this_thread::get_id());
}

TEST_F(FunctionalTest, TheCallersStateReachesTheModules) {
  struct NetImpl : torch::nn::Module {
    at::Tensor forward(const at::Tensor& x) {
      grad.push_back(c10::GradMode::is_enabled());
      return linear(x);
    }
    std::vector<bool> grad;
    torch::nn::Linear linear = register_module("linear", torch::nn::Linear(3, 2));
  };
  std::vector<std::shared_ptr<NetImpl>> modules;
  std::vector<at::Tensor> inputs;
  for (const Device device : {kFirst, kSecond}) {
    modules.push_back(std::make_shared<NetImpl>());
    modules.back()->to(torch_device(device));
    inputs.push_back(torch::randn({2, 3}).to(torch_device(device)));
  }
  at::autocast::set_autocast_dtype(torch_type(), at::kBFloat16);
  at::autocast::set_autocast_enabled(torch_type(), true);
  const auto halves = parallel_apply(modules, inputs);
  const at::Tensor expected = modules[1]->linear(inputs[1]);
  at::autocast::set_autocast_enabled(torch_type(), false);
  EXPECT_EQ(halves[1].scalar_type(), torch::kBFloat16);
  EXPECT_TRUE(at::equal(halves[1].cpu(), expected.cpu()));
  const torch::NoGradGuard off;
  EXPECT_FALSE(parallel_apply(modules, inputs)[0].requires_grad());
  EXPECT_EQ(modules[0]->grad, (std::vector<bool>{true, false}));
}

TEST_F(FunctionalTest, AFailureNamesModuleAndDevice) {
  struct NetImpl : torch::nn::Module {
    at::Tensor forward(const at::Tensor& x) {
      if (x.numel() == 0) throw std::out_of_range("wonderful");
      return x;
    }
  };
  const auto net = std::make_shared<NetImpl>();
  const at::Tensor none = torch::empty({0}).to(torch_device(kSecond));
  EXPECT_THAT(
      thrown_text<parallel::ReplicaError>([&] {
        parallel_apply(std::vector{net, net}, {none + 0, none});
      }),
      AllOf(HasSubstr("wonderful"), HasSubstr("replica 0"), HasSubstr(to_string(test_device(1)))));
  EXPECT_THAT(thrown_text([&] {
                parallel_apply(std::vector{net}, {none, none});
              }),
              HasSubstr("got 1 modules and 2 inputs"));
  EXPECT_THAT(
      thrown_text([&] { parallel_apply(std::vector{net}, {torch::empty({2}, torch::kMeta)}); }),
      HasSubstr("meta is no virtual device; give one with its index, such as tandem:0"));
  EXPECT_THAT(thrown_text([&] {
                replicate(net, {Device{DeviceType::cpu, 64}});
              }),
              HasSubstr("cpu:64 is not registered"));
}

TEST_F(FunctionalTest, ACallOverDevicesInAnyOrderTrainsTheModule) {
  auto [one, net] = twins<Mlp>();
  const Batch batch = MlpImpl::batch(5);
  const at::Tensor expected = one->forward(batch.x);
  expected.square().sum().backward();
  for (const std::vector<Device>& devices :
       {std::vector{kFirst, kSecond}, std::vector{kSecond, kFirst}, std::vector{kSecond}}) {
    net->to(torch_device(devices.front()));
    net->zero_grad();
    const at::Tensor y = data_parallel(net, batch.x.to(torch_device(kSecond)), devices);
    EXPECT_EQ(y.device(), torch_device(devices.front()));
    EXPECT_LE(largest(y, expected), 1e-12);
    y.square().sum().backward();  // the replicas' wrapper is gone
    EXPECT_LE(gradient_difference(*one, *net), 1e-12);
  }
  EXPECT_EQ(net->first->weight.device(), torch_device(kSecond));
}

TEST_F(FunctionalTest, AnOutputGoesWhereItIsAskedFor) {
  Mlp net;
  const at::Tensor x = torch::randn({6, 2});  // columns are split
  struct SumImpl : torch::nn::Module {
    at::Tensor forward(const at::Tensor& part) { return part.sum(0, true); }
  };
  const at::Tensor y =
      data_parallel(std::make_shared<SumImpl>(), x, {kFirst, kSecond}, test_device(2), 1);
  EXPECT_EQ(y.device(), torch_device(test_device(2)));
  EXPECT_LE(largest(y, x.sum(0, true)), 1e-6);
  EXPECT_EQ(data_parallel(net, torch::randn({3, 6})).device(), torch_device(kFirst));
  EXPECT_TRUE(net->first->weight.device().is_cpu());
}

TEST_F(FunctionalTest, RandomNumbersAfterACallAreThoseOfAProgramWithout) {
  Mlp net;
  torch::manual_seed(7);
  const at::Tensor expected = torch::rand({4});
  torch::manual_seed(7);
  replicate(net, {kFirst, kSecond});
  const DataParallel dp(net, {.devices = {kFirst, kSecond}});
  EXPECT_TRUE(at::equal(torch::rand({4}), expected));
}

}  // namespace
}  // namespace tandem::libtorch::test
