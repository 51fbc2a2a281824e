// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// The options of a wrapper, and what it says of steps, with modules of PyTorch: against one device.

#include <algorithm>
#include <atomic>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/libtorch/devices.hpp"
#include "tandem/libtorch/optimizer.hpp"
#include "tandem/parallel/replica_error.hpp"
#include "tandem/runtime/runtime.hpp"

#include "libtorch/models.hpp"
#include "libtorch/modes.hpp"
#include "libtorch/test_devices.hpp"
#include "thrown_text.hpp"

namespace tandem::libtorch::test {
namespace {

using parallel::ChunkPolicy;
using parallel::Combine;
using parallel::DataParallelOptions;
using parallel::Mode;
using tandem::testing::thrown_text;
using ::testing::HasSubstr;
using Rows = std::vector<std::int64_t>;

constexpr std::int64_t kOptionRows = 17;
constexpr int kOptionDevices = 3;

class OptionsTest : public ::testing::Test {
 protected:
  OptionsTest() {
    register_test_devices();
    torch::manual_seed(0);
  }
  ~OptionsTest() override { set_limits(SIZE_MAX); }
  static void set_limits(std::size_t limit) {
    for (const Device d : test_devices(kOptionDevices))
      logical_device(d).set_limit(limit);
  }
};

Rows sizes_of(const std::vector<RowRange>& ranges) {
  Rows sizes;
  for (const RowRange& range : ranges)
    sizes.push_back(range.size());
  return sizes;
}

TEST_F(OptionsTest, EachChunkPolicyDividesAsItSays) {
  const std::map<std::string, std::pair<ChunkPolicy, Rows>> policies{
      {"even", {ChunkPolicy::even(), {6, 6, 5}}},
      {"sizes", {ChunkPolicy::sizes({2, 0, 15}), {2, 0, 15}}},
      {"weights", {ChunkPolicy::weights({1, 3, 0}), {4, 13, 0}}},
      {"free memory", {ChunkPolicy::free_memory(), {6, 6, 5}}},  // without limits
      {"gpu0", {ChunkPolicy::gpu0(3), {3, 7, 7}}},
      {"gpu0 without rows", {ChunkPolicy::gpu0(0), {0, 9, 8}}},
      {"torch chunk", {ChunkPolicy::torch_chunk(), {6, 6, 5}}},
      {"balanced", {ChunkPolicy::balanced_data_parallel(1), {1, 8, 8}}},
      {"planned", {ChunkPolicy::planned(), {}}},
      {"planned for time", {ChunkPolicy::planned(parallel::PlanGoal::least_time), {}}}};
  for (const auto& [name, policy] : policies) {
    SCOPED_TRACE(name);
    auto [one, many] = twins<NormedCnn>();
    DataParallel dp(many, {.devices = test_devices(kOptionDevices), .chunks = policy.first});
    torch::optim::SGD first(one->parameters(), 0.05), second(many->parameters(), 0.05);
    for (int step = 0; step < 4; ++step) {
      const Batch batch = CnnImpl::batch(kOptionRows);
      first.zero_grad();
      squared_error(*one, batch).backward();
      first.step();
      if (step % 2 == 0) {
        const Rows rows = dp.step(batch, squared_error, second).rows;
        EXPECT_EQ(std::reduce(rows.begin(), rows.end()), kOptionRows);
        EXPECT_EQ(rows, policy.second.empty() ? rows : policy.second);
        EXPECT_EQ(sizes_of(dp.plan(kOptionRows)), rows);
      } else {
        second.zero_grad();
        torch::mse_loss(dp(batch.x), batch.y).backward();
        second.step();
      }
      EXPECT_LE(difference(*one, *many), 1e-12) << step;
      EXPECT_LE(buffer_difference(*one, *many), 1e-12) << step;
    }
  }
}

TEST_F(OptionsTest, OutputsGoToTheDeviceThatIsAskedFor) {
  for (const bool is_on_host : {true, false}) {
    auto [one, many] = twins<Mlp>();
    if (!is_on_host) many->to(torch_device(test_device(0)));
    for (const int index : {0, 2, 5}) {  // the last is none of the replicas'
      const Device output = test_device(index);
      DataParallel dp(many, {.devices = test_devices(kOptionDevices), .output_device = output});
      const Batch batch = MlpImpl::batch(kOptionRows);
      one->zero_grad();
      many->zero_grad();
      const at::Tensor y = dp(batch.x);
      EXPECT_EQ(y.device(), torch_device(output));
      torch::mse_loss(y, batch.y.to(y.device())).backward();
      squared_error(*one, batch).backward();
      EXPECT_LE(gradient_difference(*one, *many), 1e-12) << index;
    }
  }
}

TEST_F(OptionsTest, DistributedOutputsStayOnTheirDevices) {
  auto [one, many] = twins<Mlp>();
  DataParallel dp(many, {.devices = test_devices(kOptionDevices), .chunk_sizes = {5, 0, 12}});
  const Batch batch = MlpImpl::batch(kOptionRows);
  const auto y = dp.distributed(batch.x);
  ASSERT_EQ(y.parts().size(), 2U);
  EXPECT_EQ(y.rows(), kOptionRows);
  EXPECT_EQ(y.parts()[1].replica.index, 2);
  EXPECT_EQ(y.parts()[1].replica.rows, (RowRange{5, 17}));
  EXPECT_EQ(y.parts()[0].value.device(), torch_device(test_device(0)));
  EXPECT_EQ(y.parts()[1].value.device(), torch_device(test_device(2)));
  const at::Tensor expected = one->forward(batch.x);
  const at::Tensor gathered = y.gather(), elsewhere = y.gather(test_device(4));
  EXPECT_EQ(gathered.device(), torch_device(test_device(0)));
  EXPECT_EQ(elsewhere.device(), torch_device(test_device(4)));
  EXPECT_LE((gathered.cpu() - expected).abs().max().item<double>(), 1e-12);

  // A loss in parts: only its sums leave the devices.
  const at::Tensor sum =
      y.map([](const at::Tensor& part) { return part.square().sum(); }).reduce(Combine::sum);
  EXPECT_LE(std::abs(sum.item<double>() - expected.square().sum().item<double>()), 1e-11);
  sum.backward();
  expected.square().sum().backward();
  EXPECT_LE(gradient_difference(*one, *many), 1e-11);
}

TEST_F(OptionsTest, RowsMayLieInAnotherDimension) {
  struct ColumnsImpl : torch::nn::Module {
    at::Tensor forward(const at::Tensor& x) { return linear(x.t()).t(); }
    torch::nn::Linear linear = register_module("linear", torch::nn::Linear(4, 3));
  };
  const auto net = std::make_shared<ColumnsImpl>();
  net->to(torch::kDouble);
  DataParallel dp(net, {.devices = test_devices(kOptionDevices), .dim = 1});
  const at::Tensor x = torch::randn({4, 7}, torch::kDouble);
  EXPECT_LE((dp(x) - forward_alone(net, x)).abs().max().item<double>(), 1e-12);
}

TEST_F(OptionsTest, AccumulatedMicroBatchesAreOneUpdateInEachMode) {
  std::atomic<std::int64_t> runs{0};
  const auto loss = [&runs](GptImpl& net, const Batch& batch) {
    ++runs;
    return squared_error(net, batch);
  };
  for (const Mode mode : kModes) {
    for (const std::int64_t parts : {2, 5, 100}) {
      auto [one, many] = twins<Gpt>();
      torch::optim::SGD first(one->parameters(), 0.1);
      Optimizer<torch::optim::SGD> second(many->parameters(), 0.1);
      DataParallel dp(many,
                      {.devices = test_devices(kOptionDevices), .mode = mode, .accumulate = parts});
      for (int step = 0; step < 2; ++step) {
        const Batch batch = GptImpl::batch(kOptionRows);
        first.zero_grad();
        squared_error(*one, batch).backward();
        first.step();
        runs = 0;
        dp.step(batch, loss, second);
        EXPECT_EQ(runs, std::min(kOptionDevices * parts, kOptionRows)) << parallel::name(mode);
        EXPECT_LE(difference(*one, *many), 1e-12) << parallel::name(mode) << parts;
      }
    }
  }
}

TEST_F(OptionsTest, NoSyncReducesAtItsEndInEachMode) {
  for (const Mode mode : kModes) {
    auto [one, many] = twins<Mlp>();
    torch::optim::SGD first(one->parameters(), 0.1), second(many->parameters(), 0.1);
    DataParallel dp(many, {.devices = test_devices(kOptionDevices), .mode = mode});
    for (int round = 0; round < 2; ++round) {
      first.zero_grad();
      second.zero_grad();
      std::vector<Batch> batches;
      for (int i = 0; i < 3; ++i)
        batches.push_back(MlpImpl::batch(kOptionRows));
      for (const Batch& batch : batches)
        squared_error(*one, batch).backward();
      {
        const auto scope = dp.no_sync();
        dp.step(batches[0], squared_error);
        dp.step(batches[1], squared_error);
      }
      if (round == 0)
        dp.step(batches[2], squared_error);
      else  // over gathered outputs
        torch::mse_loss(dp(batches[2].x), batches[2].y).backward();
      if (round == 1) dp.sync();
      EXPECT_LE(gradient_difference(*one, *many), 1e-12) << parallel::name(mode) << round;
      first.step();
      second.step();
      EXPECT_LE(difference(*one, *many), 1e-12) << parallel::name(mode) << round;
    }
  }
}

/// What steps of the tests below are made of.
struct Training {
  explicit Training(const DataParallelOptions& options) : dp(net, options) {}
  static at::Tensor make(std::int64_t rows) { return torch::ones({rows, 64}); }
  static at::Tensor loss(torch::nn::SequentialImpl& replica, const at::Tensor& x) {
    return replica.forward(x).square().mean();
  }

  torch::nn::Sequential net{
      torch::nn::Linear(64, 512), torch::nn::Tanh(), torch::nn::Linear(512, 8)};
  Optimizer<torch::optim::Adam> optimizer{net->parameters(), torch::optim::AdamOptions(1e-3)};
  DataParallel<torch::nn::SequentialImpl> dp;
};

/// What is planned before a step, in each mode.
class PlansTest : public OptionsTest, public ::testing::WithParamInterface<Mode> {};

TEST_P(PlansTest, TheModelOfAStepSaysItsPeaks) {
  constexpr std::int64_t kBatch = 600;
  Training training({.devices = test_devices(kOptionDevices), .mode = GetParam()});
  const std::vector<at::Tensor> before = training.net->parameters();
  const at::Tensor weights = before[0].detach().clone();
  const parallel::StepModel model =
      training.dp.step_model(Training::make(kBatch), Training::loss, training.optimizer);
  EXPECT_TRUE(torch::equal(weights, training.net->parameters()[0])) << "nothing is trained";
  const parallel::StepPlan even = model.predict({200, 200, 200});
  training.dp.step(Training::make(kBatch), Training::loss, training.optimizer);
  for (const Device d : training.dp.devices())
    logical_device(d).reset_peak();
  training.dp.step(Training::make(kBatch), Training::loss, training.optimizer);
  for (std::size_t d = 0; d < kOptionDevices; ++d) {
    const auto peak =
        static_cast<double>(logical_device(training.dp.devices()[d]).memory_stats().peak);
    EXPECT_NEAR(static_cast<double>(even.peak_bytes[d]), peak, 0.02 * peak) << d;
  }
}

TEST_P(PlansTest, TheLargestBatchFitsAndOneRowMoreDoesNot) {
  std::size_t limit = 0;
  parallel::LargestBatch found;
  {
    Training training({.devices = test_devices(kOptionDevices), .mode = GetParam()});
    for (const Device d : training.dp.devices())
      limit = std::max(limit, logical_device(d).memory_stats().in_use);
    limit += std::size_t{2} << 20;
    set_limits(limit);
    found = training.dp.find_largest_batch(Training::make, Training::loss, training.optimizer);
  }
  EXPECT_TRUE(found.is_largest);
  EXPECT_GT(found.rows, 100);
  const auto fits = [&](std::int64_t rows) {
    set_limits(SIZE_MAX);
    Training training({.devices = test_devices(kOptionDevices), .mode = GetParam()});
    set_limits(limit);
    try {
      for (int step = 0; step < 2; ++step)  // the second has the optimizer's state
        training.dp.step(Training::make(rows), Training::loss, training.optimizer);
      return true;
    } catch (const parallel::ReplicaError& e) {
      EXPECT_THAT(e.what(), HasSubstr(name(test_device(0).type)));
      return false;
    }
  };
  EXPECT_TRUE(fits(found.rows));
  EXPECT_FALSE(fits(found.rows + 1));
}

TEST_P(PlansTest, AReplannedStepIsTheOneOfItsPlan) {
  torch::manual_seed(1);
  Training planned({.devices = test_devices(kOptionDevices),
                    .mode = GetParam(),
                    .on_oom = parallel::OnOutOfMemory::replan});
  const Device small = planned.dp.devices()[1];
  LogicalDevice& device = logical_device(small);
  device.set_limit(device.memory_stats().in_use + (std::size_t{1} << 20));
  const at::Tensor x = torch::randn({600, 64});
  const auto result = planned.dp.step(x, Training::loss, planned.optimizer);
  EXPECT_LT(result.rows[1], result.rows[2]);
  EXPECT_EQ(result.rows[0] + result.rows[1] + result.rows[2], 600);
  set_limits(SIZE_MAX);
  torch::manual_seed(1);
  Training given(
      {.devices = test_devices(kOptionDevices), .mode = GetParam(), .chunk_sizes = result.rows});
  given.dp.step(x, Training::loss, given.optimizer);
  EXPECT_EQ(difference(*planned.net, *given.net), 0);
  EXPECT_THAT(thrown_text<parallel::ReplicaError>([&] {
                for (const Device d : planned.dp.devices())
                  logical_device(d).set_limit(logical_device(d).memory_stats().in_use + 4096);
                planned.dp.step(x, Training::loss, planned.optimizer);
              }),
              HasSubstr(name(test_device(0).type)));
}

INSTANTIATE_TEST_SUITE_P(All,
                         PlansTest,
                         ::testing::Values(Mode::classic, Mode::server, Mode::sharded, Mode::ddp),
                         [](const auto& test) { return parallel::name(test.param); });

}  // namespace
}  // namespace tandem::libtorch::test
