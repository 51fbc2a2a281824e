// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Batch norm over GPUs of PyTorch, against one device of the host with the whole batch.

#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/parallel/replica_error.hpp"

#include "gpu/gpus.hpp"
#include "libtorch/models.hpp"
#include "libtorch/modes.hpp"
#include "thrown_text.hpp"

namespace tandem::libtorch::test {
namespace {

using parallel::Mode;
using ::testing::HasSubstr;
using testing::thrown_text;

constexpr std::int64_t kRows = 12;

class GpuBatchNormTest : public GpusTest {};

Batch on_gpu(const Batch& batch) {
  return {batch.x.cuda(), batch.y.cuda()};
}

/// A module on the host, and the same one on the first GPU.
template <class Holder>
std::pair<Holder, Holder> host_and_gpu() {
  auto both = twins<Holder>();
  both.second->to(torch::Device(torch::kCUDA, 0));
  return both;
}

TEST_F(GpuBatchNormTest, TrainsAsOneDeviceDoesWithOneRowAndWithNone) {
  for (const Mode mode : kModes) {
    torch::manual_seed(2);
    auto [one, many] = host_and_gpu<NormedCnn>();
    torch::optim::SGD first(one->parameters(), 0.1), second(many->parameters(), 0.1);
    for (const std::vector<std::int64_t>& chunks :
         {std::vector<std::int64_t>{1, 11, 0, 0}, {4, 3, 3, 2}, {0, 1, 10, 1}, {0, 0, 0, 12}}) {
      DataParallel dp(many, {.devices = devices(), .mode = mode, .chunk_sizes = chunks});
      for (int step = 0; step < 2; ++step) {
        SCOPED_TRACE(::testing::Message() << parallel::name(mode) << ' ' << chunks.back() << step);
        const Batch batch = NormedCnnImpl::batch(kRows), there = on_gpu(batch);
        first.zero_grad();
        second.zero_grad();
        squared_error(*one, batch).backward();
        if (step % 2 == 0)
          torch::mse_loss(dp(there.x), there.y).backward();
        else
          dp.step(there, squared_error);
        EXPECT_LE(gradient_difference(*one, *many), 1e-12);
        EXPECT_LE(buffer_difference(*one, *many), 1e-12);
        first.step();
        second.step();
      }
    }
  }
}

/// One batch norm of PyTorch's options.
struct GpuNormImpl : torch::nn::Module {
  explicit GpuNormImpl(
      const torch::nn::BatchNorm2dOptions& options = torch::nn::BatchNorm2dOptions(6))
      : norm(register_module("norm", torch::nn::BatchNorm2d(options))) {}
  at::Tensor forward(const at::Tensor& x) { return norm(x); }
  torch::nn::BatchNorm2d norm;
};
TORCH_MODULE(GpuNorm);

ModuleOptions<GpuNormImpl> made_with(const torch::nn::BatchNorm2dOptions& options) {
  return {.make = [options] { return std::make_shared<GpuNormImpl>(options); }};
}

TEST_F(GpuBatchNormTest, FollowsTheModulesOptionsAndTheMemoryFormat) {
  torch::manual_seed(2);
  const at::Tensor host = (torch::randn({kRows, 6, 3, 2}, torch::kDouble) * 3 + 1)
                              .contiguous(at::MemoryFormat::ChannelsLast)
                              .requires_grad_();
  const at::Tensor x = host.detach().cuda().requires_grad_();
  for (auto options : {torch::nn::BatchNorm2dOptions(6).affine(false),
                       torch::nn::BatchNorm2dOptions(6).track_running_stats(false),
                       torch::nn::BatchNorm2dOptions(6).momentum(std::nullopt).eps(0.1)}) {
    GpuNorm one(options), many(options);
    one->to(torch::kDouble);
    many->to(torch::Device(torch::kCUDA, 0), torch::kDouble);
    DataParallel dp(many, {.devices = {gpu(0), gpu(1)}, .chunk_sizes = {3, 9}}, made_with(options));
    for (int call = 0; call < 3; ++call) {
      for (const at::Tensor& leaf : {host, x})
        leaf.mutable_grad().reset();
      const at::Tensor y = dp(x), expected = one->forward(host);
      EXPECT_TRUE(y.is_contiguous(at::MemoryFormat::ChannelsLast));
      EXPECT_LE((y.cpu() - expected).abs().max().item<double>(), 1e-12);
      EXPECT_LE(buffer_difference(*one, *many), 1e-12);
      y.pow(3).sum().backward();
      expected.pow(3).sum().backward();
      EXPECT_LE((x.grad().cpu() - host.grad()).abs().max().item<double>(), 1e-10);
    }
    one->eval();
    many->eval();
    EXPECT_LE((dp(x).cpu() - one->forward(host)).abs().max().item<double>(), 1e-12);
  }
}

TEST_F(GpuBatchNormTest, HalfPrecisionKeepsItsStatisticsWide) {
  torch::manual_seed(2);
  GpuNorm one, many;
  many->to(torch::Device(torch::kCUDA, 0));
  DataParallel dp(many, {.devices = {gpu(0), gpu(1)}, .chunk_sizes = {5, 7}});
  const at::Tensor x = torch::randn({kRows, 6, 2, 2}).to(torch::kHalf);
  const at::Tensor y = dp(x.cuda()), expected = one->forward(x);
  EXPECT_EQ(y.scalar_type(), torch::kHalf);
  EXPECT_LE((y.cpu() - expected).abs().max().item<double>(), 0.01);
  EXPECT_LE(buffer_difference(*one, *many), 1e-6);
  y.sum().backward();
  EXPECT_EQ(many->norm->weight.grad().scalar_type(), torch::kFloat);
}

TEST_F(GpuBatchNormTest, MergedTracksTheWholeBatch) {
  torch::manual_seed(2);
  GpuNorm whole, many;
  whole->to(torch::kDouble);
  many->to(torch::Device(torch::kCUDA, 0), torch::kDouble);
  DataParallel dp(many,
                  {.devices = {gpu(0), gpu(1)}, .chunk_sizes = {4, 8}},
                  ModuleOptions<GpuNormImpl>{.batch_norm = BatchNormSync::merged});
  const at::Tensor x = torch::randn({kRows, 6, 2, 2}, torch::kDouble);
  const at::Tensor y = dp(x.cuda()).cpu();
  whole->forward(x);
  EXPECT_LE(buffer_difference(*whole, *many), 1e-12);
  const at::Tensor first =
      torch::batch_norm(x.narrow(0, 0, 4), {}, {}, {}, {}, /*training=*/true, 0, 1e-5, false);
  EXPECT_LE((y.narrow(0, 0, 4) - first).abs().max().item<double>(), 1e-12);
}

TEST_F(GpuBatchNormTest, SecondDerivativesAreThoseOfOneDevice) {
  torch::manual_seed(2);
  auto [one, many] = host_and_gpu<GpuNorm>();
  DataParallel dp(many, {.devices = {gpu(0), gpu(1), gpu(2)}, .chunk_sizes = {1, 4, 7}});
  const at::Tensor given = torch::randn({kRows, 6, 2, 2}, torch::kDouble);
  std::vector<at::Tensor> slopes;
  for (const bool is_many : {false, true}) {
    const at::Tensor x = (is_many ? given.cuda() : given.clone()).requires_grad_();
    const at::Tensor y = is_many ? dp(x) : one->forward(x);
    const at::Tensor slope = torch::autograd::grad({y.pow(3).sum()}, {x}, {}, true, true)[0];
    slopes.push_back(slope.detach().cpu());
    slope.square().sum().backward();
  }
  EXPECT_LE((slopes[0] - slopes[1]).abs().max().item<double>(), 1e-11);
  EXPECT_LE(gradient_difference(*one, *many), 1e-8);
}

/// A part of the batch goes through a batch norm: some replicas have none of it.
struct SomeRowsImpl : torch::nn::Module {
  at::Tensor forward(const at::Tensor& x) {
    const at::Tensor chosen = (x.select(1, 0) > 0).nonzero().flatten();
    return x.index_add(0, chosen, norm(x.index_select(0, chosen)));
  }
  torch::nn::BatchNorm1d norm = register_module("norm", torch::nn::BatchNorm1d(3));
};
TORCH_MODULE(SomeRows);

TEST_F(GpuBatchNormTest, AReplicaMayHaveNoRowsOfALayer) {
  torch::manual_seed(2);
  for (const bool is_first : {false, true}) {
    auto [one, many] = host_and_gpu<SomeRows>();
    DataParallel dp(many, {.devices = {gpu(0), gpu(1), gpu(2)}, .chunk_sizes = {4, 5, 3}});
    const at::Tensor x = torch::randn({kRows, 3}, torch::kDouble);
    x.select(1, 0).fill_(1);
    x.select(1, 0).narrow(0, is_first ? 0 : 4, 4).fill_(-1);
    const Batch batch{x, torch::randn({kRows, 3}, torch::kDouble)};
    squared_error(*one, batch).backward();
    dp.step(on_gpu(batch), squared_error);
    EXPECT_LE(gradient_difference(*one, *many), 1e-12) << is_first;
    EXPECT_LE(buffer_difference(*one, *many), 1e-12) << is_first;
  }
}

TEST_F(GpuBatchNormTest, OneValuePerChannelIsRefusedAndHasNoEffect) {
  GpuNorm net;
  net->to(torch::Device(torch::kCUDA, 0));
  DataParallel dp(net, {.devices = devices()});
  EXPECT_THAT(thrown_text<parallel::ReplicaError>([&] {
                dp(torch::ones({1, 6, 1, 1}).cuda());
              }),
              HasSubstr("Expected more than 1 value per channel"));
  EXPECT_EQ(net->norm->num_batches_tracked.item<std::int64_t>(), 0);
  dp(torch::ones({2, 6, 1, 1}).cuda());
  EXPECT_EQ(net->norm->num_batches_tracked.item<std::int64_t>(), 1);
}

TEST_F(GpuBatchNormTest, AFailedBackwardHasNoEffectAndTheNextCallWorks) {
  torch::manual_seed(2);
  auto [one, many] = host_and_gpu<NormedCnn>();
  DataParallel dp(many, {.devices = devices(), .deadline = std::chrono::seconds(10)});
  const Batch batch = NormedCnnImpl::batch(kRows), there = on_gpu(batch);
  const auto failing = [](NormedCnnImpl& net, const Batch& part) {
    const at::Tensor y = net.forward(part.x);
    if (part.x.device().index() == 1)
      y.register_hook([](const at::Tensor&) -> at::Tensor { throw std::runtime_error("no luck"); });
    return torch::mse_loss(y, part.y);
  };
  EXPECT_THAT(thrown_text<parallel::ReplicaError>([&] { dp.step(there, failing); }),
              HasSubstr("no luck"));
  EXPECT_LE(buffer_difference(*one, *many), 0);
  squared_error(*one, batch).backward();
  dp.step(there, squared_error);
  EXPECT_LE(gradient_difference(*one, *many), 1e-12);
}

}  // namespace
}  // namespace tandem::libtorch::test
