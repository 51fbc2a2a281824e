// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Modules of PyTorch on its GPUs, beside the same module on one device of the host.

#include <utility>
#include <vector>

#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <gmock/gmock.h>
#include <torch/nn.h>
#include <torch/optim.h>

#include "tandem/libtorch/data_parallel.hpp"
#include "tandem/libtorch/devices.hpp"
#include "tandem/libtorch/optimizer.hpp"

#include "gpu/gpus.hpp"
#include "thrown_text.hpp"

namespace tandem::libtorch::test {
namespace {

class GpuTrainingTest : public GpusTest {};

torch::nn::Sequential make_net() {
  torch::manual_seed(1);
  return torch::nn::Sequential(torch::nn::Linear(6, 5), torch::nn::ReLU(), torch::nn::Linear(5, 3));
}

std::vector<at::Tensor> parameters_on_host(const torch::nn::Sequential& net) {
  std::vector<at::Tensor> all;
  for (const at::Tensor& p : net->parameters())
    all.push_back(p.detach().cpu().clone());
  return all;
}

struct GpuBatch {
  at::Tensor x, y;
};

/// Uneven ones, and of fewer rows than there are devices.
std::vector<GpuBatch> make_batches() {
  torch::manual_seed(2);
  std::vector<GpuBatch> all;
  for (const std::int64_t rows : {8, 7, 3, 1, 12})
    all.push_back({torch::randn({rows, 6}), torch::randn({rows, 3})});
  return all;
}

/// Parameters after a step for each batch on one device of the host.
template <class Optimizer, class Options>
std::vector<at::Tensor> of_one_device(const Options& options) {
  auto net = make_net();
  Optimizer optimizer(net->parameters(), options);
  for (const auto& [x, y] : make_batches()) {
    optimizer.zero_grad();
    torch::mse_loss(net->forward(x), y).backward();
    optimizer.step();
  }
  return parameters_on_host(net);
}

torch::nn::Sequential net_on_gpu() {
  auto net = make_net();
  net->to(torch::Device(torch::kCUDA, 0));
  return net;
}

/// mse_loss of a replica's rows.
const auto kLoss = [](auto& replica, const auto& part) {
  const auto& [x, y] = part;
  return torch::mse_loss(replica.forward(x), y);
};

constexpr auto kGpuModes = {
    parallel::Mode::server, parallel::Mode::classic, parallel::Mode::ddp, parallel::Mode::sharded};

void expect_close(const std::vector<at::Tensor>& found, const std::vector<at::Tensor>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t p = 0; p < found.size(); ++p)
    EXPECT_TRUE(torch::allclose(found[p], expected[p], 1e-5, 1e-6)) << p;
}

TEST_F(GpuTrainingTest, StepsAreThoseOfOneDevice) {
  const torch::optim::SGDOptions options = torch::optim::SGDOptions(0.1).momentum(0.9);
  const auto expected = of_one_device<torch::optim::SGD>(options);
  for (const parallel::Mode mode : kGpuModes) {
    SCOPED_TRACE(parallel::name(mode));
    auto net = net_on_gpu();
    DataParallel dp(net, {.devices = devices(), .mode = mode});
    torch::optim::SGD sgd(net->parameters(), options);
    for (const auto& [x, y] : make_batches())
      dp.step(std::make_tuple(x.cuda(), y.cuda()), kLoss, sgd);
    expect_close(parameters_on_host(net), expected);
  }
}

TEST_F(GpuTrainingTest, SharedUpdatesAreThoseOfOneDevice) {
  const torch::optim::AdamWOptions options(0.05);
  const auto expected = of_one_device<torch::optim::AdamW>(options);
  for (const parallel::Mode mode : kGpuModes) {
    SCOPED_TRACE(parallel::name(mode));
    auto net = net_on_gpu();
    DataParallel dp(net, {.devices = devices(), .mode = mode});
    Optimizer<torch::optim::AdamW> adam(net->parameters(), options);
    for (const auto& [x, y] : make_batches())
      dp.step(std::make_tuple(x.cuda(), y.cuda()), kLoss, adam);
    expect_close(parameters_on_host(net), expected);
  }
}

TEST_F(GpuTrainingTest, CallsAreThoseOfOneDevice) {
  const torch::optim::SGDOptions options(0.1);
  const auto expected = of_one_device<torch::optim::SGD>(options);
  for (const parallel::Mode mode : kGpuModes) {
    SCOPED_TRACE(parallel::name(mode));
    auto net = net_on_gpu();
    DataParallel dp(net, {.devices = devices(), .mode = mode});
    torch::optim::SGD sgd(net->parameters(), options);
    for (const auto& [x, y] : make_batches()) {
      sgd.zero_grad();
      torch::mse_loss(dp(x.cuda()), y.cuda()).backward();
      sgd.step();
    }
    expect_close(parameters_on_host(net), expected);
  }
}

TEST_F(GpuTrainingTest, ACallFollowsTheCallersStreams) {
  const torch::optim::SGDOptions options(0.1);
  const auto expected = of_one_device<torch::optim::SGD>(options);
  auto net = net_on_gpu();
  DataParallel dp(net, {.devices = devices()});
  torch::optim::SGD sgd(net->parameters(), options);
  const c10::impl::VirtualGuardImpl guard(c10::DeviceType::CUDA);
  for (const auto& [x, y] : make_batches()) {
    const c10::Stream outer = guard.getStream(c10::Device(at::kCUDA, 0));
    const c10::Stream own = guard.getStreamFromGlobalPool(c10::Device(at::kCUDA, 0));
    c10::Event before(c10::DeviceType::CUDA), after(c10::DeviceType::CUDA);
    before.record(outer);
    before.block(own);
    {
      const c10::StreamGuard scope(own);
      sgd.zero_grad();
      torch::mse_loss(dp(x.cuda()), y.cuda()).backward();
      sgd.step();
    }
    after.record(own);
    after.block(outer);
  }
  expect_close(parameters_on_host(net), expected);
}

TEST_F(GpuTrainingTest, AModuleOnAGpuHasAllOfThem) {
  DataParallel dp(net_on_gpu());
  EXPECT_EQ(dp.devices(), gpus());
}

TEST_F(GpuTrainingTest, AModuleOfTheHostIsRefused) {
  EXPECT_THAT(testing::thrown_text([&] { DataParallel(make_net(), {.devices = devices()}); }),
              ::testing::AllOf(::testing::HasSubstr("'0.weight' is on cpu"),
                               ::testing::HasSubstr("move all of it to cuda:0")));
}

}  // namespace
}  // namespace tandem::libtorch::test
