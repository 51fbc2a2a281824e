// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Memory by cause against what the devices' allocators say.

#include "tandem/profile/memory_profile.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/ops/unary.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/runtime/runtime.hpp"

#include "devices.hpp"
#include "parallel/nets.hpp"
#include "profile/memory_witness.hpp"

namespace tandem::profile {
namespace {

using parallel::Mode;
using parallel::test::kLoss;
using parallel::test::make_batch;
using test::Witness;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::Field;

/// Layers of random widths, some of them convolutions.
struct RandomNet : nn::Module {
  explicit RandomNet(std::mt19937& random) {
    const auto any = [&](int least, int most) {
      return std::uniform_int_distribution<int>(least, most)(random);
    };
    convolves = any(0, 1) == 1;
    const int channels = any(1, 8);
    conv = nn::Conv2d(3, channels, 3, {.padding = {1, 1}, .dtype = DType::f64});
    std::int64_t width = convolves ? channels * 4 : 12;
    for (int i = any(0, 3); i > 0; --i) {
      const std::int64_t next = any(1, 40);
      layers.emplace_back(width, next, nn::LinearOptions{.dtype = DType::f64});
      width = next;
    }
    layers.emplace_back(width, 5, nn::LinearOptions{.dtype = DType::f64});
  }
  Tensor forward(const Tensor& x) {
    Tensor y = (convolves ? relu(conv(x)) : x).flatten(1);
    for (nn::Linear& layer : layers)
      y = layer(tanh(y));
    return y;
  }
  bool convolves = false;
  nn::Conv2d conv{3, 1, 3};
  std::vector<nn::Linear> layers;
  TANDEM_MODULE(RandomNet, conv, layers)
};

TEST(MemoryProfileTest, AddsUpToTheAllocatorsBytesAtEveryEventOfAnyTraining) {
  const int cases = testing::on_gpus() ? 10 : 200;
  for (int seed = 0; seed < cases; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(static_cast<unsigned>(seed));
    const auto any = [&](int least, int most) {
      return std::uniform_int_distribution<int>(least, most)(random);
    };
    const std::vector<Device> devices = testing::devices(any(1, 4));
    RandomNet net(random);
    optim::AdamW optimizer(net.named_parameters(), {.lr = 0.01});
    std::vector<std::int64_t> chunks;
    for (std::size_t d = 0; d < devices.size(); ++d)
      chunks.push_back(any(d == 0 ? 1 : 0, 9));
    const int last_mode = static_cast<int>(parallel::kModes.size()) - 1;
    parallel::DataParallel<RandomNet> dp(
        net,
        {.devices = devices,
         .mode = parallel::kModes[static_cast<std::size_t>(any(0, last_mode))],
         .chunk_sizes = chunks});
    const auto rows = std::accumulate(chunks.begin(), chunks.end(), std::int64_t{0});
    const parallel::test::Batch batch = make_batch(rows, 1, DType::f64, false);
    for (const Device d : devices)
      logical_device(d).reset_peak();
    Witness witness;
    const MemoryProfile memory = record_memory(devices, [&] {
      const Subscription subscription(witness);
      for (int step = 0; step < 2; ++step)
        dp.step(batch, kLoss, &optimizer);
    });
    test::expect_equal(memory, witness);
  }
}

TEST(MemoryProfileTest, SaysWhoseBytesTheyAre) {
  const std::vector<Device> devices = testing::devices(2);
  parallel::test::PlainCnn net;
  optim::AdamW optimizer(net.named_parameters(), {.lr = 0.01});
  parallel::DataParallel<parallel::test::PlainCnn> dp(
      net, {.devices = devices, .mode = Mode::server, .chunk_sizes = {6, 4}});
  const parallel::test::Batch batch = make_batch(10, 1, DType::f64, false);
  const MemoryProfile memory = record_memory(devices, [&] { dp.step(batch, kLoss, &optimizer); });

  const auto bytes = [&](std::size_t d, Category category, Phase phase) {
    std::size_t sum = 0;
    for (const Held& h : memory.devices[d].now)
      if (h.category == category && h.phase == phase) sum += h.nbytes;
    return sum;
  };
  const std::size_t parameters = dp.parameter_nbytes();
  EXPECT_EQ(bytes(0, Category::parameter, Phase::none), parameters);
  EXPECT_EQ(bytes(1, Category::parameter, Phase::none), parameters);
  EXPECT_EQ(bytes(0, Category::optimizer, Phase::update), 2 * parameters) << "two moments";
  EXPECT_EQ(bytes(1, Category::optimizer, Phase::update), 0U);
  for (const DeviceMemory& m : memory.devices) {
    EXPECT_TRUE(std::ranges::is_sorted(m.at_peak, std::ranges::greater{}, &Held::nbytes));
    EXPECT_THAT(m.at_peak, Contains(Field(&Held::module_path, "conv")));
    for (const Held& h : m.at_peak) {
      if (h.module_path.empty() || h.category != Category::activation) continue;
      EXPECT_THAT(h.phase, AnyOf(Phase::forward, Phase::backward)) << h.module_path;
    }
  }
}

// Though parameters lie one after the other in one block, and so do gradients and moments, of which
// in sharded each device has a share.
TEST(MemoryProfileTest, SaysWhoseParametersGradientsAndMomentsTheyAre) {
  const std::vector<Device> devices = testing::devices(2);
  for (const Mode mode : {Mode::server, Mode::sharded}) {
    parallel::test::PlainCnn net;
    optim::AdamW optimizer(net.named_parameters(), {.lr = 0.01});
    parallel::DataParallel<parallel::test::PlainCnn> dp(net, {.devices = devices, .mode = mode});
    const parallel::test::Batch batch = make_batch(10, 1, DType::f64, false);
    const MemoryProfile memory = record_memory(devices, [&] { dp.step(batch, kLoss, &optimizer); });
    using Sums = std::map<std::string, std::size_t>;
    const auto held = [&](std::size_t d, Category category) {
      Sums sums;
      for (const Held& h : memory.devices[d].now)
        if (h.category == category) sums[h.module_path] += h.nbytes;
      return sums;
    };
    // Weight and bias, each filled up to a multiple of 256 bytes.
    const Sums expected{{"conv", 1536 + 256}, {"head", 256 + 256}};
    Sums moments;
    for (const std::size_t d : {0U, 1U}) {
      EXPECT_EQ(held(d, Category::parameter), expected) << name(mode);
      EXPECT_EQ(held(d, Category::gradient), expected) << name(mode);
      for (const auto& [path, nbytes] : held(d, Category::optimizer))
        moments[path] += nbytes;
    }
    EXPECT_EQ(moments, (Sums{{"conv", 2 * expected.at("conv")}, {"head", 2 * expected.at("head")}}))
        << name(mode);
  }
}

/// Five layers of 512 x 512: parameters fill whole alignments, so that bytes can be told in
/// advance.
struct FiveLinears : nn::Module {
  FiveLinears() {
    for (int i = 0; i < 5; ++i)
      layers.emplace_back(512, 512);
  }
  Tensor forward(const Tensor& x) {
    Tensor y = x;
    for (nn::Linear& layer : layers)
      y = layer(y);
    return y;
  }
  std::vector<nn::Linear> layers;
  TANDEM_MODULE(FiveLinears, layers)
};

// What users measured of PyTorch's DataParallel with 5 x Linear(5000, 5000) and Adam: the first
// device holds weights, gradients and two moments, the others weights and gradients.
TEST(MemoryProfileTest, TheFirstDeviceHasTheMomentsOfAllExceptWhereTheyAreShared) {
  constexpr std::size_t kParameters = 5 * (512 * 512 + 512) * sizeof(float);
  const std::vector<Device> devices = testing::devices(4);
  const auto held = [&](Mode mode, Category category) {
    FiveLinears net;
    optim::Adam optimizer(net.named_parameters(), {.lr = 0.01});
    parallel::DataParallel<FiveLinears> dp(net, {.devices = devices, .mode = mode});
    const Tensor x = randn({100, 512});
    const auto loss = [](FiveLinears& m, const Tensor& part) { return sum(square(m(part))); };
    const MemoryProfile memory = record_memory(devices, [&] { dp.step(x, loss, &optimizer); });
    std::vector<std::size_t> bytes;
    for (const DeviceMemory& m : memory.devices)
      bytes.push_back(by_category(m.now)[static_cast<std::size_t>(category)]);
    return bytes;
  };
  using Bytes = std::vector<std::size_t>;
  const std::size_t p = kParameters;
  for (const Mode mode : {Mode::classic, Mode::server, Mode::sharded, Mode::ddp}) {
    EXPECT_EQ(held(mode, Category::parameter), (Bytes{p, p, p, p})) << name(mode);
    EXPECT_EQ(held(mode, Category::gradient), (Bytes{p, p, p, p})) << name(mode);
  }
  for (const Mode mode : {Mode::classic, Mode::server})
    EXPECT_EQ(held(mode, Category::optimizer), (Bytes{2 * p, 0, 0, 0})) << name(mode);
  EXPECT_EQ(held(Mode::sharded, Category::optimizer), (Bytes{p / 2, p / 2, p / 2, p / 2}));
  EXPECT_EQ(held(Mode::ddp, Category::optimizer), (Bytes{2 * p, 2 * p, 2 * p, 2 * p}));
}

TEST(MemoryProfileTest, ASecondRecordBeginsWhereTheFirstEnded) {
  const std::vector<Device> devices = testing::devices(1);
  MemoryRecorder recorder(devices);
  const Subscription subscription(recorder);
  const Tensor kept = zeros({100}, {.dtype = DType::f64, .device = devices[0]});
  const MemoryProfile first = recorder.take();
  const Tensor gone = zeros({50}, {.dtype = DType::f64, .device = devices[0]});
  const MemoryProfile second = recorder.take();
  EXPECT_EQ(first.devices[0].in_use, second.devices[0].timeline.front().in_use);
  EXPECT_EQ(second.devices[0].peak - first.devices[0].in_use, 50 * sizeof(double));
  EXPECT_EQ(first.devices[0].timeline.size(), 2U);
  EXPECT_EQ(second.devices[0].timeline.size(), 2U);
}

TEST(MemoryProfileTest, CountsTheWorkThatADeviceHadBeenGiven) {
  const std::vector<Device> devices = testing::devices(2);
  const std::span<const Device> first(devices.data(), 1);
  StepRecord work;
  const MemoryProfile memory = record_memory(first, [&] {
    work = record([&] {
      Tensor x = zeros({8}, {.dtype = DType::f64, .device = devices[0]});
      const Tensor elsewhere = exp(zeros({8}, {.dtype = DType::f64, .device = devices[1]}));
      x = exp(exp(x));
    });
  });
  const auto given =
      static_cast<std::size_t>(std::ranges::count(work.work, devices[0], &WorkSpan::device));
  std::vector<std::size_t> works;
  for (const MemoryMoment& moment : memory.devices[0].timeline)
    works.push_back(moment.works);
  // The beginning, three allocations, each before its work, and three ends of what was held.
  ASSERT_EQ(works.size(), 7U);
  EXPECT_TRUE(std::ranges::is_sorted(works));
  EXPECT_EQ(works[1], 0U);
  EXPECT_LT(works[1], works[2]);
  EXPECT_LT(works[2], works[3]);
  EXPECT_EQ(works.back(), given);
}

TEST(MemoryProfileTest, EachCategoryHasAPeakOfItsOwn) {
  const auto moment = [](std::size_t parameters, std::size_t gradients) {
    MemoryMoment m{{}, Phase::none, parameters + gradients, {}};
    m.by_category[static_cast<std::size_t>(Category::parameter)] = parameters;
    m.by_category[static_cast<std::size_t>(Category::gradient)] = gradients;
    return m;
  };
  DeviceMemory memory;
  memory.timeline = {moment(5, 1), moment(3, 2), moment(1, 4)};
  const CategoryBytes most = peak_of_each_category(memory);
  EXPECT_EQ(most[static_cast<std::size_t>(Category::parameter)], 5U);
  EXPECT_EQ(most[static_cast<std::size_t>(Category::gradient)], 4U);
  EXPECT_EQ(most[static_cast<std::size_t>(Category::activation)], 0U);
}

TEST(MemoryProfileTest, ImbalanceIsTheFirstPeakOverTheMeanOfTheOthers) {
  MemoryProfile memory;
  EXPECT_EQ(memory.imbalance(), 1);
  for (const std::size_t peak : {900, 200, 400})
    memory.devices.push_back({.device = {}, .peak = peak});
  EXPECT_DOUBLE_EQ(memory.imbalance(), 3);
}

}  // namespace
}  // namespace tandem::profile
