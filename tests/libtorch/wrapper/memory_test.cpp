// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Memory of steps of PyTorch's modules by cause: against the devices' allocators, against the
// shapes of the module, and against steps of tandem's own modules.

#include <map>
#include <numeric>
#include <set>
#include <string>

#include <gmock/gmock.h>

#include "tandem/libtorch/devices.hpp"
#include "tandem/libtorch/optimizer.hpp"
#include "tandem/profile/memory_profile.hpp"
#include "tandem/runtime/runtime.hpp"

#include "libtorch/models.hpp"
#include "libtorch/modes.hpp"
#include "libtorch/test_devices.hpp"
#include "profile/memory_witness.hpp"

namespace tandem::libtorch::test {
namespace {

using parallel::Mode;
using profile::DeviceMemory;
using profile::Held;
using profile::MemoryProfile;
using ::testing::Contains;
using ::testing::EndsWith;

constexpr std::int64_t kHeldRows = 12;

/// Bytes of a category, at a device's end of a record or at its peak.
std::size_t bytes_of(const std::vector<Held>& held, Category category) {
  return profile::by_category(held)[static_cast<std::size_t>(category)];
}

/// The most bytes of a category that a device had at once.
std::size_t most_of(const DeviceMemory& memory, Category category) {
  std::size_t most = 0;
  for (const profile::MemoryMoment& moment : memory.timeline)
    most = std::max(most, moment.by_category[static_cast<std::size_t>(category)]);
  return most;
}

/// The owners of a category's bytes that were allocated in a phase.
std::set<std::string> owners(const std::vector<Held>& held, Category category, Phase phase) {
  std::set<std::string> names;
  for (const Held& h : held)
    if (h.category == category && h.phase == phase) names.insert(h.module_path);
  return names;
}

/// What two calls of `step` held, which the witness sees too.
template <class Step>
MemoryProfile memory_of_two(const std::vector<Device>& devices,
                            profile::test::Witness& witness,
                            const Step& step) {
  for (const Device d : devices)
    logical_device(d).reset_peak();
  return profile::record_memory(devices, [&] {
    const Subscription subscription(witness);
    for (int i = 0; i < 2; ++i)
      step();
  });
}

class StepMemoryTest : public ::testing::TestWithParam<Mode> {};

INSTANTIATE_TEST_SUITE_P(All, StepMemoryTest, ::testing::ValuesIn(kModes), [](const auto& test) {
  return std::string(parallel::name(test.param));
});

template <class Holder>
void expect_the_allocators_sums(Mode mode, unsigned seed) {
  SCOPED_TRACE(seed);
  torch::manual_seed(seed);
  Holder net;
  net->to(torch::kDouble);
  const int devices = 1 + static_cast<int>(seed % 4);
  using Adam = Optimizer<torch::optim::AdamW>;
  Adam optimizer(net->parameters(), torch::optim::AdamWOptions(1e-3));
  DataParallel dp(net,
                  {.devices = test_devices(devices),
                   .mode = mode,
                   .chunk_sizes = random_chunks(kHeldRows, devices, seed)});
  const Batch batch = std::remove_reference_t<decltype(*net)>::batch(kHeldRows);
  profile::test::Witness witness;
  const MemoryProfile memory =
      memory_of_two(dp.devices(), witness, [&] { dp.step(batch, squared_error, optimizer); });
  profile::test::expect_equal(memory, witness);
}

TEST_P(StepMemoryTest, AddsUpToTheAllocatorsBytesAtEveryEvent) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    expect_the_allocators_sums<Mlp>(GetParam(), seed);
    expect_the_allocators_sums<Cnn>(GetParam(), seed);
    expect_the_allocators_sums<Gpt>(GetParam(), seed);
  }
}

/// Five layers of 64 x 64, whose weights and biases fill whole alignments.
struct FiveLayersImpl : torch::nn::Module {
  FiveLayersImpl() {
    for (int i = 0; i < 5; ++i)
      layers->push_back(torch::nn::Linear(64, 64));
    register_module("layers", layers);
  }
  at::Tensor forward(const at::Tensor& x) { return layers->forward(x); }
  torch::nn::Sequential layers;
};
TORCH_MODULE(FiveLayers);

TEST_P(StepMemoryTest, ParametersGradientsAndMomentsAreThoseOfTheShapes) {
  constexpr std::size_t p = 5 * (64 * 64 + 64) * sizeof(float);
  FiveLayers net;
  Optimizer<torch::optim::Adam> optimizer(net->parameters(), torch::optim::AdamOptions(1e-3));
  DataParallel dp(net, {.devices = test_devices(4), .mode = GetParam()});
  const at::Tensor x = torch::randn({100, 64});
  const auto loss = [](FiveLayersImpl& m, const at::Tensor& part) {
    return m.forward(part).square().mean();
  };
  const MemoryProfile memory =
      profile::record_memory(dp.devices(), [&] { dp.step(x, loss, optimizer); });
  const std::map<Mode, std::vector<std::size_t>> moments{
      {Mode::classic, {2 * p, 0, 0, 0}},
      {Mode::server, {2 * p, 0, 0, 0}},
      {Mode::sharded, {p / 2, p / 2, p / 2, p / 2}},
      {Mode::ddp, {2 * p, 2 * p, 2 * p, 2 * p}}};
  for (std::size_t d = 0; d < 4; ++d) {
    const DeviceMemory& m = memory.devices[d];
    EXPECT_EQ(bytes_of(m.now, Category::parameter), p);
    EXPECT_EQ(bytes_of(m.now, Category::gradient), p);
    EXPECT_EQ(bytes_of(m.now, Category::optimizer), moments.at(GetParam())[d]);
    EXPECT_EQ(most_of(m, Category::input), 25 * 64 * sizeof(float));
    for (const Category gone : {Category::input, Category::activation, Category::workspace})
      EXPECT_EQ(bytes_of(m.now, gone), 0U) << gone;
    std::map<std::string, std::size_t> parameters;
    for (const Held& h : m.now)
      if (h.category == Category::parameter) parameters[h.module_path] += h.nbytes;
    for (int i = 0; i < 5; ++i)
      EXPECT_EQ(parameters["layers." + std::to_string(i)], p / 5);
  }
}

TEST_P(StepMemoryTest, ActivationsAreTheOpsThatMadeThem) {
  torch::manual_seed(0);
  Mlp net;
  net->to(torch::kDouble);
  DataParallel dp(net, {.devices = test_devices(2), .mode = GetParam()});
  const Batch batch = MlpImpl::batch(kHeldRows);
  const MemoryProfile memory =
      profile::record_memory(dp.devices(), [&] { dp.step(batch, squared_error); });
  for (const DeviceMemory& m : memory.devices) {
    EXPECT_EQ(m.peak_phase, Phase::backward);
    // tanh keeps its result for backward.
    const std::size_t rows = kHeldRows / 2;
    std::map<std::string, std::size_t> forward;
    for (const Held& h : m.at_peak)
      if (h.category == Category::activation && h.phase == Phase::forward)
        forward[h.module_path] += h.nbytes;
    EXPECT_EQ(forward["MlpImpl.tanh"], rows * 10 * sizeof(double));
    EXPECT_THAT(owners(m.at_peak, Category::activation, Phase::backward),
                Contains(EndsWith("Backward0")));
    EXPECT_TRUE(owners(m.at_peak, Category::activation, Phase::none).empty());
  }
}

TEST_P(StepMemoryTest, OfPyTorchsOwnOptimizerTheStateStays) {
  constexpr std::size_t p = 5 * (64 * 64 + 64) * sizeof(float);
  FiveLayers net;
  register_devices(8);
  net->to(torch::Device("tandem:0"));
  torch::optim::Adam optimizer(net->parameters(), torch::optim::AdamOptions(1e-3));
  DataParallel dp(net, {.devices = test_devices(2), .mode = GetParam()});
  const at::Tensor x = torch::randn({100, 64});
  const auto loss = [](FiveLayersImpl& m, const at::Tensor& part) {
    return m.forward(part).square().mean();
  };
  profile::test::Witness witness;
  const MemoryProfile memory =
      memory_of_two(dp.devices(), witness, [&] { dp.step(x, loss, optimizer); });
  EXPECT_EQ(bytes_of(memory.devices[0].now, Category::optimizer), 2 * p);
  EXPECT_EQ(bytes_of(memory.devices[0].now, Category::workspace), 0U);
  EXPECT_GT(most_of(memory.devices[0], Category::workspace), 0U);
  EXPECT_EQ(bytes_of(memory.devices[1].now, Category::optimizer), 0U);
  profile::test::expect_equal(memory, witness);
}

TEST_P(StepMemoryTest, OfGatheredOutputsTheSumsHoldToo) {
  torch::manual_seed(0);
  Mlp net;
  net->to(torch::kDouble);
  register_devices(8);
  net->to(torch::Device("tandem:0"));
  DataParallel dp(net, {.devices = test_devices(3), .mode = GetParam()});
  const Batch batch = MlpImpl::batch(kHeldRows);
  const at::Tensor y = batch.y.to(torch::Device("tandem:0"));
  for (const Device d : dp.devices())
    logical_device(d).reset_peak();
  const MemoryProfile memory =
      profile::record_memory(dp.devices(), [&] { torch::mse_loss(dp(batch.x), y).backward(); });
  for (const DeviceMemory& m : memory.devices) {
    const MemoryStats stats = logical_device(m.device).memory_stats();
    EXPECT_EQ(m.in_use, stats.in_use);
    EXPECT_EQ(profile::test::sum_of(m.at_peak), m.peak);
    EXPECT_EQ(profile::by_category(m.now), stats.by_category);
    EXPECT_EQ(bytes_of(m.now, Category::activation), m.device.index == 0 ? y.nbytes() : 0);
    EXPECT_EQ(most_of(m, Category::input), 4 * 6 * sizeof(double));
  }
  EXPECT_GE(most_of(memory.devices[0], Category::output), y.nbytes());
  for (const std::size_t d : {1U, 2U})
    EXPECT_EQ(most_of(memory.devices[d], Category::output_gradient), 4 * 3 * sizeof(double));
}

}  // namespace
}  // namespace tandem::libtorch::test
