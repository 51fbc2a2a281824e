// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// What modules of PyTorch do on its GPUs alone. The suites for all devices run there, too.

#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <gmock/gmock.h>
#include <torch/nn.h>
#include <torch/optim.h>

#include "tandem/libtorch/data_parallel.hpp"
#include "tandem/libtorch/devices.hpp"

#include "gpu/gpus.hpp"
#include "thrown_text.hpp"

namespace tandem::libtorch::test {
namespace {

class GpuTrainingTest : public GpusTest {};

torch::nn::Sequential make_net() {
  torch::manual_seed(1);
  return torch::nn::Sequential(torch::nn::Linear(6, 5), torch::nn::ReLU(), torch::nn::Linear(5, 3));
}

torch::nn::Sequential net_on_gpu() {
  auto net = make_net();
  net->to(torch::Device(torch::kCUDA, 0));
  return net;
}

TEST_F(GpuTrainingTest, ACallFollowsTheCallersStreams) {
  auto one = make_net(), many = net_on_gpu();
  torch::optim::SGD of_one(one->parameters(), 0.1), of_many(many->parameters(), 0.1);
  DataParallel dp(many, {.devices = devices()});
  const c10::impl::VirtualGuardImpl guard(c10::DeviceType::CUDA);
  for (const std::int64_t rows : {8, 7, 3, 1, 12}) {
    const at::Tensor x = torch::randn({rows, 6}), y = torch::randn({rows, 3});
    of_one.zero_grad();
    torch::mse_loss(one->forward(x), y).backward();
    of_one.step();
    const c10::Stream outer = guard.getStream(c10::Device(at::kCUDA, 0));
    const c10::Stream own = guard.getStreamFromGlobalPool(c10::Device(at::kCUDA, 0));
    c10::Event before(c10::DeviceType::CUDA), after(c10::DeviceType::CUDA);
    before.record(outer);
    before.block(own);
    {
      const c10::StreamGuard scope(own);
      of_many.zero_grad();
      torch::mse_loss(dp(x.cuda()), y.cuda()).backward();
      of_many.step();
    }
    after.record(own);
    after.block(outer);
  }
  const auto expected = one->parameters(), found = many->parameters();
  for (std::size_t p = 0; p < expected.size(); ++p)
    EXPECT_TRUE(torch::allclose(found[p].cpu(), expected[p], 1e-5, 1e-6)) << p;
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
