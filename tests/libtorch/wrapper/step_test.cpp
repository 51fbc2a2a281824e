// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Steps of PyTorch's modules on several devices, against one device.

#include <stdexcept>
#include <thread>

#include <ATen/Parallel.h>
#include <gmock/gmock.h>

#include "tandem/libtorch/optimizer.hpp"
#include "tandem/ops/linalg.hpp"
#include "tandem/tensor/factories.hpp"

#include "libtorch/models.hpp"
#include "libtorch/test_devices.hpp"

namespace tandem::libtorch::test {
namespace {

using parallel::Mode;

constexpr std::int64_t kStepRows = 13;
constexpr auto kAllModes = {Mode::classic, Mode::server, Mode::sharded, Mode::ddp};
// Adam would divide gradients that are zero but for rounding (of keys' biases) by themselves.
const auto kOptions = torch::optim::SGDOptions(0.05).momentum(0.9).weight_decay(0.01);

/// Trains two equal modules for 20 steps, one of them on several devices, wrapped anew with other
/// chunks each five steps. @return the largest difference of weights and losses
///
/// @param train  trains the latter by a batch, and returns its loss
template <class Holder, class Shared, class Train>
double difference_after(int devices, Mode mode, unsigned seed, const Train& train) {
  torch::manual_seed(seed);
  auto [one, many] = twins<Holder>();
  torch::optim::SGD optimizer(one->parameters(), kOptions);
  Shared shared(many->parameters(), kOptions);
  double worst = 0;
  for (unsigned part = 0; part < 4; ++part) {
    DataParallel dp(many,
                    {.devices = test_devices(devices),
                     .mode = mode,
                     .chunk_sizes = random_chunks(kStepRows, devices, seed + part)});
    for (int step = 0; step < 5; ++step) {
      const Batch batch = std::remove_reference_t<decltype(*one)>::batch(kStepRows);
      optimizer.zero_grad();
      const at::Tensor loss = squared_error(*one, batch);
      loss.backward();
      optimizer.step();
      const double of_many = train(dp, batch, shared);
      worst = std::max({worst,
                        difference(*one, *many),
                        buffer_difference(*one, *many),
                        std::abs(of_many - loss.item<double>())});
    }
  }
  return worst;
}

template <class Holder, class Shared>
double difference_after_training(int devices, Mode mode, unsigned seed) {
  return difference_after<Holder, Shared>(
      devices, mode, seed, [](auto& dp, const Batch& batch, Shared& optimizer) -> double {
        return dp.step(batch, squared_error, optimizer).loss;
      });
}

/// The same by loss(dp(x), y).backward().
template <class Holder>
double difference_after_calls(int devices, Mode mode, unsigned seed) {
  using Sgd = torch::optim::SGD;
  return difference_after<Holder, Sgd>(
      devices, mode, seed, [](auto& dp, const Batch& batch, Sgd& optimizer) {
        optimizer.zero_grad();
        const at::Tensor loss = torch::mse_loss(dp(batch.x), batch.y);
        loss.backward();
        optimizer.step();
        return loss.item<double>();
      });
}

class ModesTest : public ::testing::TestWithParam<std::tuple<int, Mode>> {};

TEST_P(ModesTest, TrainsAsOneDeviceDoesWithPyTorchsOptimizer) {
  const auto [devices, mode] = GetParam();
  EXPECT_LE((difference_after_training<Mlp, torch::optim::SGD>(devices, mode, 1)), 1e-12);
  EXPECT_LE((difference_after_training<Cnn, torch::optim::SGD>(devices, mode, 2)), 1e-12);
  EXPECT_LE((difference_after_training<NormedCnn, torch::optim::SGD>(devices, mode, 7)), 1e-12);
  EXPECT_LE((difference_after_training<Gpt, torch::optim::SGD>(devices, mode, 3)), 1e-12);
}

TEST_P(ModesTest, TrainsAsOneDeviceDoesWithASharedOptimizer) {
  const auto [devices, mode] = GetParam();
  using Shared = Optimizer<torch::optim::SGD>;
  EXPECT_LE((difference_after_training<Mlp, Shared>(devices, mode, 4)), 1e-12);
  EXPECT_LE((difference_after_training<Cnn, Shared>(devices, mode, 5)), 1e-12);
  EXPECT_LE((difference_after_training<NormedCnn, Shared>(devices, mode, 8)), 1e-12);
  EXPECT_LE((difference_after_training<Gpt, Shared>(devices, mode, 6)), 1e-12);
}

TEST_P(ModesTest, TrainsAsOneDeviceDoesByCalls) {
  const auto [devices, mode] = GetParam();
  EXPECT_LE(difference_after_calls<Mlp>(devices, mode, 1), 1e-12);
  EXPECT_LE(difference_after_calls<NormedCnn>(devices, mode, 7), 1e-12);
  EXPECT_LE(difference_after_calls<Gpt>(devices, mode, 3), 1e-12);
}

INSTANTIATE_TEST_SUITE_P(All,
                         ModesTest,
                         ::testing::Combine(::testing::Values(1, 2, 3, 4, 7),
                                            ::testing::ValuesIn(kAllModes)),
                         [](const auto& test) {
                           return std::to_string(std::get<0>(test.param)) + "_" +
                                  parallel::name(std::get<1>(test.param));
                         });

TEST(StepGradientsTest, AreAddedToThoseThatAreThere) {
  torch::manual_seed(0);
  auto [one, many] = twins<Mlp>();
  for (const Mode mode : kAllModes) {
    DataParallel dp(many, {.devices = test_devices(3), .mode = mode});
    for (int step = 0; step < 3; ++step) {
      const Batch batch = MlpImpl::batch(kStepRows);
      squared_error(*one, batch).backward();
      dp.step(batch, squared_error);
      EXPECT_LE(gradient_difference(*one, *many), 1e-12) << parallel::name(mode) << step;
    }
    // Zeroed in place, dropped one by one, and replaced.
    for (auto* net : {&one, &many}) {
      for (at::Tensor& p : (*net)->parameters())
        p.mutable_grad().zero_();
      (*net)->first->weight.mutable_grad().reset();
      (*net)->second->bias.mutable_grad() = torch::ones_like((*net)->second->bias);
      (*net)->second->weight.mutable_grad().add_(2);
    }
    const Batch batch = MlpImpl::batch(kStepRows);
    squared_error(*one, batch).backward();
    dp.step(batch, squared_error);
    EXPECT_LE(gradient_difference(*one, *many), 1e-12) << parallel::name(mode);
  }
}

/// What PyTorch says in a thread that has asked for nothing yet.
int threads_of_a_new_thread() {
  int count = 0;
  std::thread([&] { count = at::get_num_threads(); }).join();
  return count;
}

TEST(StepThreadsTest, AreThoseOfTheProgramAfterAStep) {
  const int mine = at::get_num_threads(), of_others = threads_of_a_new_thread();
  Mlp net;
  net->to(torch::kDouble);
  DataParallel dp(net, {.devices = test_devices(2 * of_others)});  // a share is another number
  dp.step(MlpImpl::batch(kStepRows), squared_error);
  dp(MlpImpl::batch(kStepRows).x).sum().backward();
  EXPECT_EQ(at::get_num_threads(), mine);
  EXPECT_EQ(threads_of_a_new_thread(), of_others);
}

TEST(StepThreadsTest, AreThoseOfTheProgramAfterAProductOfTandem) {
  const int mine = at::get_num_threads();
  at::set_num_threads(mine + 1);
  const Tensor x = ones({512, 512}, {.device = test_device(0)});
  matmul(x, x);
  EXPECT_EQ(at::get_num_threads(), mine + 1);
  at::set_num_threads(mine);
}

TEST(StepGradientsTest, SkipFrozenAndUnusedParameters) {
  torch::manual_seed(0);
  auto [one, many] = twins<Mlp>();
  DataParallel dp(many, {.devices = test_devices(2)});
  const auto loss = [](MlpImpl& net, const Batch& batch) {  // without the second layer's bias
    const at::Tensor h = torch::tanh(net.first(batch.x));
    return torch::mse_loss(h.matmul(net.second->weight.t()), batch.y);
  };
  for (const bool is_frozen : {false, true, false}) {
    for (auto* net : {&one, &many}) {
      (*net)->zero_grad();
      (*net)->first->bias.set_requires_grad(!is_frozen);
    }
    const Batch batch = MlpImpl::batch(kStepRows);
    loss(*one, batch).backward();
    dp.step(batch, loss);
    EXPECT_LE(gradient_difference(*one, *many), 1e-12);
    EXPECT_FALSE(many->second->bias.grad().defined());
    EXPECT_EQ(many->first->bias.grad().defined(), !is_frozen);
  }
}

/// Two parameters that are one tensor: registered under two names.
struct TiedImpl : torch::nn::Module {
  TiedImpl() { register_parameter("also", weight); }
  at::Tensor forward(const at::Tensor& x) {
    return torch::tanh(x.matmul(weight)).matmul(named_parameters()["also"]);
  }
  static Batch batch(std::int64_t rows) {
    return {torch::randn({rows, 4}, torch::kDouble), torch::randn({rows, 4}, torch::kDouble)};
  }
  at::Tensor weight = register_parameter("weight", torch::randn({4, 4}));
};
TORCH_MODULE(Tied);

TEST(StepGradientsTest, OfATiedParameterAreSummed) {
  torch::manual_seed(0);
  auto [one, many] = twins<Tied>();
  DataParallel dp(many, {.devices = test_devices(3)});
  const Batch batch = TiedImpl::batch(kStepRows);
  squared_error(*one, batch).backward();
  dp.step(batch, squared_error);
  EXPECT_LE(gradient_difference(*one, *many), 1e-12);
}

TEST(StepTest, AWeightedSumIsExactUnderUnevenWeights) {
  torch::manual_seed(0);
  auto [one, many] = twins<Mlp>();
  DataParallel dp(many, {.devices = test_devices(3), .chunk_sizes = {2, 3, 8}});
  const auto sum_of = [](MlpImpl& net, const Batch& batch) {
    const at::Tensor weights = batch.y.select(1, 0).abs();
    return ((net.forward(batch.x) - batch.y).square().sum(1) * weights).sum();
  };
  const Batch batch = MlpImpl::batch(kStepRows);
  (sum_of(*one, batch) / batch.y.select(1, 0).abs().sum()).backward();
  dp.step(batch, [&](MlpImpl& net, const Batch& part) {
    return WeightedSum{sum_of(net, part), part.y.select(1, 0).abs().sum()};
  });
  EXPECT_LE(gradient_difference(*one, *many), 1e-12);
}

TEST(StepTest, MicroBatchesMakeOneUpdate) {
  torch::manual_seed(0);
  auto [one, many] = twins<Cnn>();
  DataParallel dp(many, {.devices = test_devices(2), .accumulate = 3});
  const Batch batch = CnnImpl::batch(kStepRows);
  squared_error(*one, batch).backward();
  dp.step(batch, squared_error);
  EXPECT_LE(gradient_difference(*one, *many), 1e-12);
}

/// Dropout and batch norm between two layers.
struct NoisyImpl : torch::nn::Module {
  at::Tensor forward(const at::Tensor& x) { return second(dropout(torch::tanh(norm(first(x))))); }
  torch::nn::Linear first = register_module("first", torch::nn::Linear(6, 10));
  torch::nn::BatchNorm1d norm = register_module("norm", torch::nn::BatchNorm1d(10));
  torch::nn::Dropout dropout = register_module("dropout", torch::nn::Dropout(0.5));
  torch::nn::Linear second = register_module("second", torch::nn::Linear(10, 3));
};
TORCH_MODULE(Noisy);

/// The weights of a module with dropout and batch norm, after steps and after backwards of dp(x).
std::vector<at::Tensor> weights_after_noise(const parallel::DataParallelOptions& options) {
  torch::manual_seed(3);
  Noisy net;
  Optimizer<torch::optim::SGD> optimizer(net->parameters(), torch::optim::SGDOptions(0.1));
  DataParallel dp(net, options);
  for (int step = 0; step < 6; ++step) {
    const Batch batch{torch::randn({kStepRows, 6}), torch::randn({kStepRows, 3})};
    if (step < 3) {
      dp.step(batch, squared_error, optimizer);
      continue;
    }
    optimizer.zero_grad();
    torch::mse_loss(dp(batch.x), batch.y).backward();
    optimizer.step();
  }
  std::vector<at::Tensor> weights = net->parameters();
  for (const at::Tensor& buffer : net->buffers())
    weights.push_back(buffer);
  return weights;
}

class RunsTest : public ::testing::TestWithParam<Mode> {};

TEST_P(RunsTest, WithDropoutGiveTheSameBits) {
  for (const std::vector<std::int64_t>& sizes :
       {std::vector<std::int64_t>{5, 4, 4}, {1, 9, 3}, {0, 13, 0}}) {
    const parallel::DataParallelOptions options{
        .devices = test_devices(3), .mode = GetParam(), .chunk_sizes = sizes};
    const auto first = weights_after_noise(options), again = weights_after_noise(options);
    ASSERT_EQ(first.size(), again.size());
    for (std::size_t i = 0; i < first.size(); ++i)
      EXPECT_TRUE(torch::equal(first[i], again[i])) << i << ", " << sizes[0] << " rows first";
  }
}

/// Gradients of one step, and weights after 20, in f32 as docs/exactness.md has them.
template <class Holder>
void expect_single_precision(Mode mode) {
  torch::manual_seed(6);
  auto [one, many] = twins<Holder>();
  one->to(torch::kFloat);
  many->to(torch::kFloat);
  const auto batch_of = [] {
    Batch batch = std::remove_reference_t<decltype(*one)>::batch(kStepRows);
    if (batch.x.is_floating_point()) batch.x = batch.x.to(torch::kFloat);
    batch.y = batch.y.to(torch::kFloat);
    return batch;
  };
  DataParallel dp(many, {.devices = test_devices(3), .mode = mode, .chunk_sizes = {1, 7, 5}});
  const Batch first = batch_of();
  squared_error(*one, first).backward();
  dp.step(first, squared_error);
  EXPECT_LE(gradient_difference(*one, *many), 1e-5);
  torch::optim::SGD optimizer(one->parameters(), kOptions);
  Optimizer<torch::optim::SGD> shared(many->parameters(), kOptions);
  for (int step = 0; step < 20; ++step) {
    const Batch batch = batch_of();
    optimizer.zero_grad();
    squared_error(*one, batch).backward();
    optimizer.step();
    dp.step(batch, squared_error, shared);
  }
  EXPECT_LE(difference(*one, *many), 1e-4);
}

TEST_P(RunsTest, InSinglePrecisionAreNearOneDevices) {
  expect_single_precision<Mlp>(GetParam());
  expect_single_precision<NormedCnn>(GetParam());
  expect_single_precision<Gpt>(GetParam());
}

TEST_P(RunsTest, GradientsThatAreSetToZeroAreAddedTo) {
  torch::manual_seed(2);
  auto [one, many] = twins<Mlp>();
  DataParallel dp(many, {.devices = test_devices(3), .mode = GetParam()});
  torch::optim::SGD of_one(one->parameters(), 0.1), of_many(many->parameters(), 0.1);
  for (int step = 0; step < 6; ++step) {
    const Batch batch = MlpImpl::batch(kStepRows);
    of_one.zero_grad(false);
    step % 2 == 0 ? of_many.zero_grad(false) : many->zero_grad(false);
    squared_error(*one, batch).backward();
    if (step % 3 == 0)
      torch::mse_loss(dp(batch.x), batch.y).backward();
    else
      dp.step(batch, squared_error);
    EXPECT_LE(gradient_difference(*one, *many), 1e-12) << step;
    of_one.step();
    of_many.step();
    EXPECT_LE(difference(*one, *many), 1e-12) << step;
  }
}

INSTANTIATE_TEST_SUITE_P(All, RunsTest, ::testing::ValuesIn(kAllModes), [](const auto& test) {
  return parallel::name(test.param);
});

TEST(StepTest, ReplicasAndCallsDrawOtherMasks) {
  torch::manual_seed(3);
  Noisy net;
  DataParallel dp(net, {.devices = test_devices(2)});
  const Batch batch{torch::ones({4, 6}), torch::zeros({4, 3})};
  std::array<std::array<at::Tensor, 2>, 2> outputs;
  for (auto& call : outputs) {
    dp.step(batch, [&call](NoisyImpl& replica, const Batch& part) {
      const at::Tensor y = replica.forward(part.x);
      call[static_cast<std::size_t>(part.x.device().index())] = y.detach().cpu();
      return y.sum();
    });
  }
  EXPECT_FALSE(torch::equal(outputs[0][0], outputs[0][1]));
  EXPECT_FALSE(torch::equal(outputs[0][0], outputs[1][0]));
}

/// Batch norm with running statistics.
struct NormedImpl : torch::nn::Module {
  at::Tensor forward(const at::Tensor& x) { return head(norm(x)); }
  torch::nn::BatchNorm1d norm = register_module("norm", torch::nn::BatchNorm1d(6));
  torch::nn::Linear head = register_module("head", torch::nn::Linear(6, 3));
};
TORCH_MODULE(Normed);

TEST(StepBuffersTest, AreKeptByAFailure) {
  torch::manual_seed(0);
  auto [one, many] = twins<Normed>();
  DataParallel dp(many, {.devices = test_devices(2), .chunk_sizes = {5, 8}});
  for (int step = 0; step < 3; ++step) {
    const Batch batch = MlpImpl::batch(kStepRows);
    dp.step(batch, squared_error);
    one->forward(batch.x);
    EXPECT_LE(buffer_difference(*one, *many), 1e-12);
    EXPECT_EQ(many->norm->num_batches_tracked.item<std::int64_t>(), step + 1);
    EXPECT_ANY_THROW(dp.step(batch, [](NormedImpl& replica, const Batch& part) -> at::Tensor {
      replica.forward(part.x);
      throw std::runtime_error("no luck");
    }));
  }
  many->eval();
  const at::Tensor x = MlpImpl::batch(kStepRows).x;
  EXPECT_LE((dp(x) - forward_alone(many, x)).abs().max().item<double>(), 1e-12);
}

}  // namespace
}  // namespace tandem::libtorch::test
