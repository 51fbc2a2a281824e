// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// dp(x): replicas in one graph of PyTorch, against one device.

#include <map>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>

#include "tandem/libtorch/devices.hpp"
#include "tandem/libtorch/optimizer.hpp"
#include "tandem/parallel/replica_error.hpp"

#include "libtorch/models.hpp"
#include "libtorch/modes.hpp"
#include "libtorch/test_devices.hpp"

namespace tandem::libtorch::test {
namespace {

using parallel::Mode;

constexpr std::int64_t kGatheredRows = 11;

class GatheredTest : public ::testing::TestWithParam<std::tuple<int, Mode>> {};

TEST_P(GatheredTest, TrainsAsOneDeviceDoes) {
  const auto [devices, mode] = GetParam();
  torch::manual_seed(1);
  auto [one, many] = twins<Gpt>();
  torch::optim::SGD first(one->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  Optimizer<torch::optim::SGD> second(many->parameters(),
                                      torch::optim::SGDOptions(0.05).momentum(0.9));
  DataParallel dp(many,
                  {.devices = test_devices(devices),
                   .mode = mode,
                   .chunk_sizes = random_chunks(kGatheredRows, devices, 5)});
  for (int step = 0; step < 10; ++step) {
    const Batch batch = GptImpl::batch(kGatheredRows);
    first.zero_grad();
    second.zero_grad();
    const at::Tensor y = dp(batch.x), expected = one->forward(batch.x);
    EXPECT_TRUE(y.device().is_cpu());
    EXPECT_LE((y - expected).abs().max().item<double>(), 1e-12);
    torch::mse_loss(expected, batch.y).backward();
    torch::mse_loss(y, batch.y).backward();
    EXPECT_LE(gradient_difference(*one, *many), 1e-12);
    first.step();
    if (step % 2 == 0)
      second.step();
    else  // now and then a step whose loss is in the replicas
      dp.step(batch, squared_error, second);
    EXPECT_LE(difference(*one, *many), 1e-12) << step;
  }
}

INSTANTIATE_TEST_SUITE_P(All,
                         GatheredTest,
                         ::testing::Combine(::testing::Values(1, 2, 3, 7),
                                            ::testing::ValuesIn(kModes)),
                         [](const auto& test) {
                           return std::to_string(std::get<0>(test.param)) + "_" +
                                  parallel::name(std::get<1>(test.param));
                         });

TEST(GatheredGraphTest, InputsHooksAndSecondDerivativesAreThoseOfOneDevice) {
  torch::manual_seed(1);
  auto [one, many] = twins<Mlp>();
  DataParallel dp(many, {.devices = test_devices(3)});
  std::array<std::vector<at::Tensor>, 2> results;
  const Batch batch = MlpImpl::batch(kGatheredRows);
  for (int i = 0; i < 2; ++i) {
    auto& net = i == 0 ? one : many;
    const at::Tensor x = batch.x.clone().requires_grad_();
    net->first->weight.register_hook([&](const at::Tensor& g) { results[i].push_back(g.clone()); });
    const at::Tensor y = i == 0 ? net->forward(x) : dp(x);
    const at::Tensor slope = torch::autograd::grad({y.square().sum()}, {x}, {}, true, true)[0];
    results[i].push_back(slope.detach());
    (torch::mse_loss(y, batch.y) + (slope.norm(2, 1) - 1).square().mean()).backward();
    for (const at::Tensor& p : net->parameters())
      results[i].push_back(p.grad());
    results[i].push_back(x.grad());
  }
  EXPECT_LE(difference(results[0], results[1]), 1e-11);
}

TEST(GatheredGraphTest, AGraphWhoseParametersHaveChangedIsRefused) {
  Mlp net;
  net->to(torch::kDouble);
  DataParallel dp(net, {.devices = test_devices(2)});
  const Batch batch = MlpImpl::batch(kGatheredRows);
  const at::Tensor y = dp(batch.x), again = dp(batch.x);
  again.sum().backward();  // the same values: both graphs are good
  net->second->weight.data().mul_(2);
  const at::Tensor newer = dp(batch.x);
  try {
    y.sum().backward();
    ADD_FAILURE() << "went backward with other values than forward";
  } catch (const c10::Error& e) {
    EXPECT_THAT(e.what(), ::testing::HasSubstr("modified by an inplace operation"));
  }
  EXPECT_NO_THROW(newer.sum().backward());
}

/// Returns a nest: a tensor by rows, a scalar and a number.
struct NestImpl : torch::nn::Module {
  std::map<std::string, at::Tensor> forward(const std::map<std::string, at::Tensor>& in) {
    const at::Tensor y = linear(in.at("a") + in.at("b"));
    return {{"y", y}, {"sum", y.sum()}};
  }
  torch::nn::Linear linear = register_module("linear", torch::nn::Linear(3, 2));
};
TORCH_MODULE(Nest);

TEST(GatheredGraphTest, NestsGoInAndComeOut) {
  Nest net;
  DataParallel dp(net, {.devices = test_devices(2)});
  const std::map<std::string, at::Tensor> in{{"a", torch::randn({4, 3})},
                                             {"b", torch::randn({4, 3})}};
  const auto out = dp(in);
  EXPECT_EQ(out.at("y").sizes(), (std::vector<std::int64_t>{4, 2}));
  EXPECT_EQ(out.at("sum").sizes(), (std::vector<std::int64_t>{2}));  // stacked, as by PyTorch
  EXPECT_TRUE(torch::allclose(out.at("y").sum(), out.at("sum").sum(), 1e-5, 1e-5));
}

TEST(GatheredGraphTest, WithoutGradNothingIsRecorded) {
  Mlp net;
  DataParallel dp(net, {.devices = test_devices(2)});
  const torch::NoGradGuard off;
  EXPECT_FALSE(dp(torch::ones({4, 6})).requires_grad());
}

TEST(GatheredGraphTest, AFailureNamesTheReplicaAndTheNextCallWorks) {
  struct PickyImpl : torch::nn::Module {
    at::Tensor forward(const at::Tensor& x) {
      if (x.sum().item<double>() > 100) throw std::runtime_error("too much");
      return linear(x);
    }
    torch::nn::Linear linear = register_module("linear", torch::nn::Linear(1, 1));
  };
  const auto net = std::make_shared<PickyImpl>();
  DataParallel dp(net, {.devices = test_devices(2)});
  at::Tensor x = torch::ones({4, 1});
  x[3] = 1000;
  try {
    dp(x);
    ADD_FAILURE() << "not thrown";
  } catch (const parallel::ReplicaError& e) {
    EXPECT_EQ(e.replica, 1);
    EXPECT_EQ(e.rows, (RowRange{2, 4}));
  }
  EXPECT_EQ(dp(torch::ones({4, 1})).size(0), 4);
}

}  // namespace
}  // namespace tandem::libtorch::test
