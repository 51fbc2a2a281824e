// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Batch norm of PyTorch's modules in replicas: synchronised against one device, and per replica
// against a loop over the chunks.

#include <atomic>
#include <chrono>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/libtorch/sync_batchnorm.hpp"
#include "tandem/parallel/replica_error.hpp"

#include "libtorch/models.hpp"
#include "libtorch/modes.hpp"
#include "libtorch/test_devices.hpp"

namespace tandem::libtorch::test {
namespace {

using parallel::Mode;

constexpr std::int64_t kNormRows = 12;

torch::nn::BatchNorm1dOptions features(std::int64_t count) {
  return torch::nn::BatchNorm1dOptions(count);
}

/// Two batch norms in branches that know nothing of each other, and ops that take random times.
struct BranchesImpl : torch::nn::Module {
  at::Tensor forward(const at::Tensor& x) {
    return join(torch::cat({left_norm(late(left(x))), torch::tanh(right_norm(late(right(x))))}, 1));
  }
  static Batch batch(std::int64_t rows) { return MlpImpl::batch(rows); }

  /// Longest random time of an op, in microseconds.
  static inline std::atomic<int> longest = 0;

 private:
  static void wait() {
    static thread_local std::mt19937 generator(std::random_device{}());
    if (longest > 0)
      std::this_thread::sleep_for(
          std::chrono::microseconds(generator() % static_cast<unsigned>(longest.load())));
  }
  static at::Tensor late(const at::Tensor& x) {
    wait();
    if (x.requires_grad())
      x.register_hook([](const at::Tensor& g) {
        wait();
        return g;
      });
    return x;
  }
  torch::nn::Linear left = register_module("left", torch::nn::Linear(6, 4));
  torch::nn::Linear right = register_module("right", torch::nn::Linear(6, 4));
  torch::nn::BatchNorm1d left_norm = register_module("left_norm", torch::nn::BatchNorm1d(4));
  torch::nn::BatchNorm1d right_norm =
      register_module("right_norm", torch::nn::BatchNorm1d(features(4).momentum(std::nullopt)));
  torch::nn::Linear join = register_module("join", torch::nn::Linear(8, 3));
};
TORCH_MODULE(Branches);

/// Chunks with 0 rows, 1 row and more.
std::vector<std::vector<std::int64_t>> uneven_chunks() {
  return {{1, 11, 0}, {0, 1, 11}, {4, 4, 4}, {10, 1, 1}, {0, 0, 12}, {1, 0, 11}};
}

TEST(SyncBatchNormTest, TrainsAsOneDeviceDoesWithOneRowAndWithNone) {
  for (const Mode mode : kModes) {
    torch::manual_seed(2);
    auto [one, many] = twins<Branches>();
    torch::optim::SGD first(one->parameters(), 0.1), second(many->parameters(), 0.1);
    for (const auto& chunks : uneven_chunks()) {
      DataParallel dp(many, {.devices = test_devices(3), .mode = mode, .chunk_sizes = chunks});
      for (int step = 0; step < 4; ++step) {
        const Batch batch = BranchesImpl::batch(kNormRows);
        first.zero_grad();
        second.zero_grad();
        squared_error(*one, batch).backward();
        if (step % 2 == 0)
          torch::mse_loss(dp(batch.x), batch.y).backward();
        else
          dp.step(batch, squared_error);
        EXPECT_LE(gradient_difference(*one, *many), 1e-12);
        EXPECT_LE(buffer_difference(*one, *many), 1e-12);
        first.step();
        second.step();
      }
    }
  }
}

/// Batch norm over volumes and over sequences.
struct VolumesImpl : torch::nn::Module {
  at::Tensor forward(const at::Tensor& x) {
    return sequences(torch::tanh(volumes(x)).flatten(2)).mean(2);
  }
  torch::nn::BatchNorm3d volumes = register_module("volumes", torch::nn::BatchNorm3d(3));
  torch::nn::BatchNorm1d sequences = register_module("sequences", torch::nn::BatchNorm1d(3));
};
TORCH_MODULE(Volumes);

TEST(SyncBatchNormTest, AlsoOfVolumesAndSequences) {
  torch::manual_seed(4);
  auto [one, many] = twins<Volumes>();
  DataParallel dp(many, {.devices = test_devices(3), .chunk_sizes = {2, 0, 5}});
  for (int step = 0; step < 3; ++step) {
    const Batch batch{torch::randn({7, 3, 2, 3, 4}, torch::kDouble),
                      torch::randn({7, 3}, torch::kDouble)};
    squared_error(*one, batch).backward();
    dp.step(batch, squared_error);
    EXPECT_LE(gradient_difference(*one, *many), 1e-12) << step;
    EXPECT_LE(buffer_difference(*one, *many), 1e-12) << step;
  }
}

TEST(SyncBatchNormTest, BranchesNeverWaitForEachOther) {
  torch::manual_seed(2);
  auto [one, many] = twins<Branches>();
  DataParallel dp(many, {.devices = test_devices(3)});
  const Batch batch = BranchesImpl::batch(kNormRows);
  squared_error(*one, batch).backward();
  BranchesImpl::longest = 100;
  for (int schedule = 0; schedule < 1000; ++schedule) {
    many->zero_grad();
    if (schedule % 2 == 0)
      torch::mse_loss(dp(batch.x), batch.y).backward();
    else
      dp.step(batch, squared_error);
    ASSERT_LE(gradient_difference(*one, *many), 1e-12) << schedule;
  }
  BranchesImpl::longest = 0;
}

TEST(SyncBatchNormTest, SecondDerivativesAreThoseOfOneDevice) {
  torch::manual_seed(2);
  auto [one, many] = twins<Branches>();
  DataParallel dp(many, {.devices = test_devices(3), .chunk_sizes = {1, 4, 7}});
  const Batch batch = BranchesImpl::batch(kNormRows);
  std::array<at::Tensor, 2> slopes;
  for (int i = 0; i < 2; ++i) {
    const at::Tensor x = batch.x.clone().requires_grad_();
    const at::Tensor y = i == 0 ? one->forward(x) : dp(x);
    const at::Tensor slope = torch::autograd::grad({y.square().sum()}, {x}, {}, true, true)[0];
    slopes[static_cast<std::size_t>(i)] = slope.detach();
    slope.square().sum().backward();
  }
  EXPECT_LE((slopes[0] - slopes[1]).abs().max().item<double>(), 1e-12);
  EXPECT_LE(gradient_difference(*one, *many), 1e-11);
}

/// One batch norm of PyTorch's options.
struct OneNormImpl : torch::nn::Module {
  explicit OneNormImpl(torch::nn::BatchNorm1dOptions options = features(6))
      : norm(register_module("norm", torch::nn::BatchNorm1d(options))) {}
  at::Tensor forward(const at::Tensor& x) { return norm(x); }
  torch::nn::BatchNorm1d norm;
};
TORCH_MODULE(OneNorm);

ModuleOptions<OneNormImpl> made_with(torch::nn::BatchNorm1dOptions options) {
  return {.make = [options] { return std::make_shared<OneNormImpl>(options); }};
}

TEST(SyncBatchNormTest, FollowsTheModulesOptions) {
  torch::manual_seed(2);
  const at::Tensor x = torch::randn({kNormRows, 6}, torch::kDouble) * 3 + 1;
  for (const auto& options : {features(6).affine(false),
                              features(6).track_running_stats(false),
                              features(6).momentum(std::nullopt).eps(0.1)}) {
    OneNorm one(options), many(options);
    one->to(torch::kDouble);
    many->to(torch::kDouble);
    DataParallel dp(many, {.devices = test_devices(2), .chunk_sizes = {3, 9}}, made_with(options));
    for (int call = 0; call < 3; ++call) {
      const at::Tensor y = dp(x);
      EXPECT_LE((y - one->forward(x)).abs().max().item<double>(), 1e-12);
      EXPECT_LE(buffer_difference(*one, *many), 1e-12);
    }
    one->eval();
    many->eval();
    EXPECT_LE((dp(x) - one->forward(x)).abs().max().item<double>(), 1e-12);
  }
}

/// Batch norm over images.
struct ImagesImpl : torch::nn::Module {
  at::Tensor forward(const at::Tensor& x) { return norm(x); }
  torch::nn::BatchNorm2d norm = register_module("norm", torch::nn::BatchNorm2d(6));
};
TORCH_MODULE(Images);

TEST(SyncBatchNormTest, FollowsTheMemoryFormat) {
  torch::manual_seed(2);
  auto [one, many] = twins<Images>();
  DataParallel dp(many, {.devices = test_devices(2), .chunk_sizes = {3, 9}});
  const at::Tensor x = (torch::randn({kNormRows, 6, 3, 2}, torch::kDouble) * 3 + 1)
                           .contiguous(at::MemoryFormat::ChannelsLast);
  const at::Tensor first = x.clone().requires_grad_(), second = x.clone().requires_grad_();
  const at::Tensor expected = one->forward(first), y = dp(second);
  EXPECT_TRUE(y.is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_LE((y - expected).abs().max().item<double>(), 1e-12);
  expected.pow(3).sum().backward();
  y.pow(3).sum().backward();
  EXPECT_LE((second.grad() - first.grad()).abs().max().item<double>(), 1e-10);
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

TEST(SyncBatchNormTest, AReplicaMayHaveNoRowsOfALayer) {
  torch::manual_seed(2);
  for (const int empty : {0, 1}) {
    auto [one, many] = twins<SomeRows>();
    DataParallel dp(many, {.devices = test_devices(3), .chunk_sizes = {4, 5, 3}});
    const at::Tensor x = torch::randn({kNormRows, 3}, torch::kDouble);
    x.select(1, 0).fill_(1);
    x.select(1, 0).narrow(0, empty == 0 ? 0 : 4, empty == 0 ? 4 : 5).fill_(-1);
    const Batch batch{x, torch::randn({kNormRows, 3}, torch::kDouble)};
    squared_error(*one, batch).backward();
    dp.step(batch, squared_error);
    EXPECT_LE(gradient_difference(*one, *many), 1e-12) << empty;
    EXPECT_LE(buffer_difference(*one, *many), 1e-12) << empty;
  }
}

TEST(SyncBatchNormTest, AFrozenOneStaysInEvaluation) {
  torch::manual_seed(2);
  auto [one, many] = twins<Branches>();
  DataParallel dp(many, {.devices = test_devices(2)});
  for (auto* net : {&one, &many})
    (*net)->named_modules()["left_norm"]->eval();
  const Batch batch = BranchesImpl::batch(kNormRows);
  for (int step = 0; step < 2; ++step) {
    squared_error(*one, batch).backward();
    dp.step(batch, squared_error);
  }
  EXPECT_LE(gradient_difference(*one, *many), 1e-12);
  EXPECT_LE(buffer_difference(*one, *many), 1e-12);
  EXPECT_TRUE(many->named_modules()["right_norm"]->is_training());
  EXPECT_TRUE(dp.replica(1).named_modules()["right_norm"]->is_training());
}

TEST(SyncBatchNormTest, HalfPrecisionKeepsItsStatisticsWide) {
  torch::manual_seed(2);
  OneNorm one, many;
  DataParallel dp(many, {.devices = test_devices(2), .chunk_sizes = {5, 7}});
  const at::Tensor x = torch::randn({kNormRows, 6}).to(torch::kBFloat16);
  const at::Tensor y = dp(x), expected = one->forward(x);
  EXPECT_EQ(y.scalar_type(), torch::kBFloat16);
  EXPECT_LE((y - expected).abs().max().item<double>(), 0.02);
  EXPECT_LE(buffer_difference(*one, *many), 1e-6);
}

/// Normalisations that are not batch norm, and one that is only a function.
struct OtherNormsImpl : torch::nn::Module {
  at::Tensor forward(const at::Tensor& x) {
    namespace F = torch::nn::functional;
    return F::batch_norm(instance(x), {}, {}, F::BatchNormFuncOptions().training(true)) +
           torch::layer_norm(x, {5});
  }
  torch::nn::InstanceNorm1d instance = register_module(
      "instance",
      torch::nn::InstanceNorm1d(torch::nn::InstanceNorm1dOptions(4).track_running_stats(true)));
};
TORCH_MODULE(OtherNorms);

TEST(SyncBatchNormTest, InstanceNormIsLeftAloneAndTheFunctionIsNot) {
  torch::manual_seed(2);
  OtherNorms one, many;
  one->to(torch::kDouble);
  many->to(torch::kDouble);
  DataParallel dp(many, {.devices = test_devices(2), .chunk_sizes = {4, 8}});
  const at::Tensor x = torch::randn({kNormRows, 4, 5}, torch::kDouble);
  EXPECT_LE((dp(x) - one->forward(x)).abs().max().item<double>(), 1e-12);
  one->instance->reset_running_stats();
  one->forward(x.narrow(0, 0, 4));  // its buffers are the first replica's
  EXPECT_LE(buffer_difference(*one, *many), 1e-12);
}

/// The output of a loop over chunks. The buffers follow the first chunk.
at::Tensor in_chunks(OneNorm& net, const at::Tensor& x, const std::vector<std::int64_t>& chunks) {
  std::vector<at::Tensor> parts;
  for (const at::Tensor& part : x.split_with_sizes(chunks))
    parts.push_back(torch::batch_norm(
        part, net->norm->weight, net->norm->bias, {}, {}, /*training=*/true, 0, 1e-5, false));
  {
    const torch::NoGradGuard off;
    net->forward(x.narrow(0, 0, chunks.front()));
  }
  return torch::cat(parts);
}

TEST(BatchNormTest, PerReplicaIsALoopOverTheChunks) {
  torch::manual_seed(2);
  OneNorm one, many;
  one->to(torch::kDouble);
  many->to(torch::kDouble);
  const std::vector<std::int64_t> chunks{4, 8};
  DataParallel dp(many,
                  {.devices = test_devices(2), .chunk_sizes = chunks},
                  ModuleOptions<OneNormImpl>{.batch_norm = BatchNormSync::per_replica});
  const at::Tensor x = torch::randn({kNormRows, 6}, torch::kDouble);
  for (int call = 0; call < 3; ++call) {
    many->zero_grad();
    one->zero_grad();
    const at::Tensor y = dp(x), expected = in_chunks(one, x, chunks);
    EXPECT_LE((y - expected).abs().max().item<double>(), 1e-12);
    y.pow(3).sum().backward();
    expected.pow(3).sum().backward();
    EXPECT_LE(gradient_difference(*one, *many), 1e-11);
    EXPECT_LE(buffer_difference(*one, *many), 1e-12);
  }
}

TEST(BatchNormTest, MergedNormalisesByChunkAndTracksTheWholeBatch) {
  torch::manual_seed(2);
  OneNorm one, whole, many;
  for (auto* net : {&one, &whole, &many})
    (*net)->to(torch::kDouble);
  DataParallel dp(many,
                  {.devices = test_devices(2), .chunk_sizes = {4, 8}},
                  ModuleOptions<OneNormImpl>{.batch_norm = BatchNormSync::merged});
  const at::Tensor x = torch::randn({kNormRows, 6}, torch::kDouble);
  EXPECT_LE((dp(x) - in_chunks(one, x, {4, 8})).abs().max().item<double>(), 1e-12);
  whole->forward(x);
  EXPECT_LE(buffer_difference(*whole, *many), 1e-12);
}

/// Names, identities and values.
std::vector<std::tuple<std::string, const void*, std::vector<double>>> state_of(
    const OneNorm& net) {
  std::vector<std::tuple<std::string, const void*, std::vector<double>>> all;
  const auto add = [&](const auto& items) {
    for (const auto& item : items) {
      const at::Tensor flat = item.value().detach().to(torch::kCPU, torch::kDouble).flatten();
      all.emplace_back(item.key(),
                       item.value().unsafeGetTensorImpl(),
                       std::vector<double>(flat.const_data_ptr<double>(),
                                           flat.const_data_ptr<double>() + flat.numel()));
    }
  };
  add(net->named_parameters());
  add(net->named_buffers());
  return all;
}

TEST(BatchNormTest, ConvertingAndBackLeavesTheStateDictAlone) {
  torch::manual_seed(2);
  OneNorm net;
  const auto before = state_of(net);
  const at::Tensor x = torch::randn({kNormRows, 6});
  std::vector<at::Tensor> outputs;
  for (const auto sync : {BatchNormSync::per_replica, BatchNormSync::synchronised}) {
    EXPECT_EQ(convert_sync_batchnorm(*net, sync), 1);
    EXPECT_EQ(state_of(net), before);
    DataParallel dp(net, {.devices = test_devices(2), .chunk_sizes = {4, 8}});
    outputs.push_back(dp(x).detach());
    net->norm->reset_running_stats();
  }
  OneNorm one;
  EXPECT_TRUE(torch::allclose(outputs[0], in_chunks(one, x, {4, 8}), 1e-5, 1e-6));
  EXPECT_TRUE(torch::allclose(outputs[1], one->forward(x), 1e-5, 1e-6));
}

TEST(BatchNormTest, OneValuePerChannelIsRefusedAsByPyTorch) {
  for (const auto sync : {BatchNormSync::per_replica, BatchNormSync::synchronised}) {
    OneNorm net;
    DataParallel dp(
        net, {.devices = test_devices(2)}, ModuleOptions<OneNormImpl>{.batch_norm = sync});
    try {
      dp(torch::ones({1, 6}));
      ADD_FAILURE() << "not refused";
    } catch (const parallel::ReplicaError& e) {
      EXPECT_THAT(e.what(), ::testing::HasSubstr("Expected more than 1 value per channel"));
    }
    EXPECT_EQ(net->norm->num_batches_tracked.item<std::int64_t>(), 0);
    dp(torch::ones({2 * kNormRows, 6}));
    EXPECT_EQ(net->norm->num_batches_tracked.item<std::int64_t>(), 1);
  }
}

TEST(SyncBatchNormTest, AFailedBackwardDoesNotHangAndTheNextCallWorks) {
  torch::manual_seed(2);
  auto [one, many] = twins<Branches>();
  DataParallel dp(many, {.devices = test_devices(2), .deadline = std::chrono::seconds(2)});
  const Batch batch = BranchesImpl::batch(kNormRows);
  const auto failing = [](BranchesImpl& net, const Batch& part) {
    const at::Tensor y = net.forward(part.x);
    if (part.x.device().index() == 1)
      y.register_hook([](const at::Tensor&) -> at::Tensor { throw std::runtime_error("no luck"); });
    return torch::mse_loss(y, part.y);
  };
  EXPECT_THROW(dp.step(batch, failing), parallel::ReplicaError);
  squared_error(*one, batch).backward();
  dp.step(batch, squared_error);
  EXPECT_LE(gradient_difference(*one, *many), 1e-12);
}

TEST(SyncBatchNormTest, AGraphOutlivesItsWrapper) {
  torch::manual_seed(2);
  auto [one, many] = twins<Branches>();
  const Batch batch = BranchesImpl::batch(kNormRows);
  const at::Tensor y = [&, &net = many] {
    DataParallel dp(net, {.devices = test_devices(2)});
    return dp(batch.x);
  }();
  torch::mse_loss(one->forward(batch.x), batch.y).backward();
  torch::mse_loss(y, batch.y).backward();
  EXPECT_LE(gradient_difference(*one, *many), 1e-12);
}

}  // namespace
}  // namespace tandem::libtorch::test
