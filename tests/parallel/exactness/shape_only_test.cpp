// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Devices that compute nothing need the bytes of those that do, for each model and mode. The run
// with data is the oracle.
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/nn/models/bert.hpp"
#include "tandem/nn/models/cnn.hpp"
#include "tandem/nn/models/gpt.hpp"
#include "tandem/nn/models/mlp.hpp"
#include "tandem/nn/models/resnet.hpp"
#include "tandem/nn/models/vgg.hpp"
#include "tandem/ops/autocast.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/optim/clip.hpp"
#include "tandem/parallel/fully_sharded_data_parallel.hpp"
#include "tandem/profile/memory_profile.hpp"

#include "parallel/nets.hpp"
#include "parallel/ranks.hpp"
#include "thrown_text.hpp"

namespace tandem::parallel::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::thrown_text;

const char* const kWithData = "cpu:4";
const char* const kWithout = "cpu:4@shape-only";
const Device kHome{DeviceType::cpu, 3};  // where shares are offloaded to

/// What a device was counted to hold at most, in a whole run and by category.
struct Need {
  MemoryStats stats;
  profile::CategoryBytes most;

  friend bool operator==(const Need& a, const Need& b) {
    return a.stats.peak == b.stats.peak && a.stats.in_use == b.stats.in_use &&
           a.stats.peak_by_category == b.stats.peak_by_category &&
           a.stats.allocations == b.stats.allocations && a.most == b.most;
  }
  friend void PrintTo(const Need& need, std::ostream* s) {
    *s << "peak " << need.stats.peak << ", in use " << need.stats.in_use << ", most";
    for (const std::size_t nbytes : need.most)
      *s << ' ' << nbytes;
  }
};

/// The needs of `run` on the devices of a list.
std::vector<Need> needs_of(const char* list, const std::function<void()>& run) {
  const std::vector<Device> all = configure_devices(list);
  manual_seed(3);
  std::vector<MemoryStats> before;
  for (const Device d : all) {
    logical_device(d).reset_peak();
    before.push_back(logical_device(d).memory_stats());
  }
  const auto memory = profile::record_memory(std::span(all), run);
  std::vector<Need> needs;
  for (std::size_t d = 0; d < all.size(); ++d) {
    needs.push_back(
        {logical_device(all[d]).memory_stats(), profile::peak_of_each_category(memory.devices[d])});
    needs.back().stats.allocations -= before[d].allocations;
  }
  configure_devices(kWithData);
  return needs;
}

/// Three steps on the first `n` devices.
template <class M, class Make, class Loss>
void train(const Make& make,
           const std::vector<Batch>& batches,
           Loss loss,
           DataParallelOptions how) {
  M net = make();
  optim::AdamW optimizer(net.named_parameters(), {.lr = 0.01});
  DataParallel dp(net, how);
  for (const Batch& batch : batches)
    dp.step(batch, loss, &optimizer);
}

std::vector<DataParallelOptions> all_ways() {
  std::vector<DataParallelOptions> ways;
  for (const Mode mode : kModes)
    for (const int n : {1, 2, 3})
      ways.push_back({.devices = devices(n), .mode = mode});
  ways.push_back(
      {.devices = devices(2), .mode = Mode::fully_sharded, .sharding = {.offload = kHome}});
  ways.push_back(
      {.devices = devices(2),
       .mode = Mode::fully_sharded,
       .sharding = {.units = UnitPolicy::by_size(1 << 12), .reshard_after_forward = false}});
  for (const Mode mode : {Mode::server, Mode::sharded_gradients})
    ways.push_back({.devices = devices(3), .mode = mode, .accumulate = 2});
  return ways;
}

std::string title(const DataParallelOptions& how) {
  return tandem::detail::concat(name(how.mode),
                                " on ",
                                how.devices.size(),
                                how.sharding.offload ? ", offloaded" : "",
                                ", accumulate ",
                                how.accumulate);
}

/// `make_batch` is called in both runs, so that the batch counts, too.
template <class M, class Make, class MakeBatch, class Loss>
void expect_equal_needs(const Make& make, const MakeBatch& make_batch, Loss loss) {
  for (const DataParallelOptions& how : all_ways()) {
    const auto run = [&] { train<M>(make, {make_batch(), make_batch(), make_batch()}, loss, how); };
    EXPECT_EQ(needs_of(kWithout, run), needs_of(kWithData, run)) << title(how);
  }
}

Batch images(const Shape& shape) {
  return {randn(shape), randint(0, 10, {shape[0]})};
}

template <class M>
WeightedSum class_loss(M& net, const Batch& b) {
  return cross_entropy_sum(net(b.x), b.labels);
}

TEST(ShapeOnlyTraining, MlpNeedsTheSameBytes) {
  using nn::models::Mlp;
  expect_equal_needs<Mlp>(
      [] {
        return Mlp({.sizes = {64, 96, 48, 10}});
      },
      [] {
        return images({11, 64});
      },
      class_loss<Mlp>);
}

TEST(ShapeOnlyTraining, CnnNeedsTheSameBytes) {
  using nn::models::Cnn;
  expect_equal_needs<Cnn>([] { return Cnn(); },
                          [] {
                            return images({6, 3, 32, 32});
                          },
                          class_loss<Cnn>);
}

TEST(ShapeOnlyTraining, ResNetNeedsTheSameBytes) {
  using nn::models::ResNet;
  expect_equal_needs<ResNet>(
      [] {
        return nn::models::resnet18(
            {.classes = 10, .width = 8, .stem = nn::models::ResNetStem::cifar});
      },
      [] {
        return images({6, 3, 32, 32});
      },
      class_loss<ResNet>);
}

TEST(ShapeOnlyTraining, ResNetOfGroupsNeedsTheSameBytes) {
  using nn::models::ResNet;
  expect_equal_needs<ResNet>(
      [] { return nn::models::resnext50_32x4d({.classes = 10, .width = 16}); },
      [] {
        return images({6, 3, 32, 32});
      },
      class_loss<ResNet>);
}

TEST(ShapeOnlyTraining, CnnSmallAndVgg16NeedTheSameBytes) {
  using nn::models::CnnSmall;
  using nn::models::Vgg16;
  const auto batch = [] { return images({6, 3, 32, 32}); };
  expect_equal_needs<CnnSmall>(
      [] {
        return CnnSmall({.channels = 3, .size = {32, 32}});
      },
      batch,
      class_loss<CnnSmall>);
  expect_equal_needs<Vgg16>(
      [] { return Vgg16({.classes = 10, .width = 4, .hidden = 32, .pooled = 1}); },
      batch,
      class_loss<Vgg16>);
}

nn::models::Gpt small_gpt(DType dtype, bool recompute = false) {
  return nn::models::Gpt({.layers = 2,
                          .width = 32,
                          .heads = 4,
                          .context = 24,
                          .vocabulary = 50,
                          .dropout = 0.1,
                          .recompute = recompute,
                          .dtype = dtype});
}

Batch tokens() {
  return {randint(0, 50, {7, 20}), randint(0, 50, {7, 20})};
}

WeightedSum token_loss(nn::models::Gpt& net, const Batch& b) {
  return cross_entropy_sum(net(b.x).flatten(0, 1), b.labels.flatten());
}

TEST(ShapeOnlyTraining, GptNeedsTheSameBytes) {
  for (const DType dtype : {DType::f32, DType::f64})
    expect_equal_needs<nn::models::Gpt>([=] { return small_gpt(dtype); }, tokens, token_loss);
}

TEST(ShapeOnlyTraining, GptThatComputesItsActivationsAgainNeedsTheSameBytes) {
  expect_equal_needs<nn::models::Gpt>(
      [] { return small_gpt(DType::f32, true); }, tokens, token_loss);
}

TEST(ShapeOnlyTraining, BertNeedsTheSameBytes) {
  using nn::models::BertMaskedLm;
  expect_equal_needs<BertMaskedLm>(
      [] {
        return BertMaskedLm(
            {.layers = 2, .width = 32, .heads = 4, .context = 24, .vocabulary = 50});
      },
      tokens,
      [](BertMaskedLm& net, const Batch& b) {
        return cross_entropy_sum(net(b.x).flatten(0, 1), b.labels.flatten());
      });
}

TEST(ShapeOnlyTraining, GptWithProductsIn16BitsNeedsTheSameBytes) {
  const Autocast mixed(DType::bf16);
  expect_equal_needs<nn::models::Gpt>([] { return small_gpt(DType::f32); }, tokens, token_loss);
}

/// A program of three ranks, each with its module.
template <template <class> class Wrapper>
void train_ranks() {
  const Batch all = images({11, 64});
  run_ranks(devices(3), [&](Rank& rank) {
    nn::models::Mlp net({.sizes = {64, 96, 10}, .device = rank.device()});
    Wrapper<nn::models::Mlp> wrapped(net, rank);
    optim::AdamW optimizer(net.named_parameters(), {.lr = 0.01});
    for (int step = 0; step < 3; ++step) {
      const Batch b = part_of(all, rank);
      optimizer.zero_grad();
      cross_entropy(wrapped(b.x), b.labels).backward();
      optimizer.step();
    }
  });
}

TEST(ShapeOnlyTraining, RanksNeedTheSameBytes) {
  EXPECT_EQ(needs_of(kWithout, train_ranks<DistributedDataParallel>),
            needs_of(kWithData, train_ranks<DistributedDataParallel>));
  EXPECT_EQ(needs_of(kWithout, train_ranks<FullyShardedDataParallel>),
            needs_of(kWithData, train_ranks<FullyShardedDataParallel>));
}

TEST(ShapeOnlyTraining, ClippedStepsOnGatheredOutputsNeedTheSameBytes) {
  using nn::models::Mlp;
  for (const Mode mode : kModes) {
    const auto run = [&] {
      Mlp net({.sizes = {64, 96, 48, 10}});
      optim::AdamW optimizer(net.named_parameters(), {.lr = 0.01});
      DataParallel dp(net, {.devices = devices(3), .mode = mode});
      for (int step = 0; step < 2; ++step) {
        const Batch b = images({11, 64});
        optimizer.zero_grad();
        cross_entropy(dp(b.x), b.labels).backward();
        optim::clip_grad_norm_(net.parameters(), 1, {.error_if_nonfinite = true});
        optimizer.step();
      }
    };
    EXPECT_EQ(needs_of(kWithout, run), needs_of(kWithData, run)) << name(mode);
  }
}

TEST(ShapeOnlyTraining, StepsThatCheckThemselvesNeedTheSameBytes) {
  using nn::models::Mlp;
  for (const DataParallelOptions& how : std::vector<DataParallelOptions>{
           {.devices = devices(3), .bitwise_leaves = 4},
           {.devices = devices(3), .checks = {.non_finite_gradients = NonFinite::error}},
           {.devices = devices(3), .mode = Mode::ddp, .checks = {.drift_every = 1}},
           {.devices = devices(2), .chunks = ChunkPolicy::planned()}}) {
    const auto run = [&] {
      train<Mlp>(
          [] {
            return Mlp({.sizes = {64, 96, 48, 10}});
          },
          {images({11, 64}), images({11, 64})},
          class_loss<Mlp>,
          how);
    };
    std::vector<Need> without = needs_of(kWithout, run), with = needs_of(kWithData, run);
    if (how.chunks) {  // how many steps are measured may differ with their times
      for (std::size_t d = 0; d < with.size(); ++d)
        without[d].stats.allocations = with[d].stats.allocations;
    }
    EXPECT_EQ(without, with) << title(how);
  }
}

TEST(ShapeOnlyTraining, OutOfMemoryComesAtTheSameLimit) {
  using nn::models::Mlp;
  const auto run = [&] {
    train<Mlp>(
        [] {
          return Mlp({.sizes = {64, 96, 48, 10}});
        },
        {images({11, 64})},
        class_loss<Mlp>,
        {.devices = devices(2), .mode = Mode::server});
  };
  const std::size_t peak = needs_of(kWithData, run)[0].stats.peak;
  const auto limited = [](std::size_t limit) { return "cpu:4@" + std::to_string(limit); };
  for (const std::string& what : {std::string(), std::string("@shape-only")}) {
    EXPECT_NO_THROW(needs_of((limited(peak) + what).c_str(), run)) << what;
    EXPECT_THROW(needs_of((limited(peak - 1) + what).c_str(), run), Error) << what;
    configure_devices(kWithData);
  }
}

TEST(ShapeOnlyTraining, ReadingResultsThrowsNoDataAndChangesNothing) {
  using nn::models::Mlp;
  configure_devices(kWithout);
  {
    Mlp net({.sizes = {64, 96, 10}});
    optim::AdamW optimizer(net.named_parameters(), {.lr = 0.01});
    DataParallel dp(net, {.devices = devices(2)});
    const Batch b = images({11, 64});
    const StepResult result = dp.step(b, class_loss<Mlp>, &optimizer);
    EXPECT_TRUE(std::isnan(result.loss));
    EXPECT_EQ(result.rows, (std::vector<std::int64_t>{6, 5}));
    const Tensor loss = cross_entropy(dp(b.x), b.labels);
    const std::size_t before = logical_device(loss.device()).memory_stats().in_use;
    const std::uint64_t allocations = logical_device(loss.device()).memory_stats().allocations;
    EXPECT_THAT(thrown_text<NoData>([&] { loss.item(); }),
                AllOf(HasSubstr("item"), HasSubstr("cpu:0")));
    EXPECT_THAT(thrown_text<NoData>([&] { b.x.to_host<float>(); }), HasSubstr("to_host"));
    EXPECT_THAT(thrown_text<NoData>([&] { b.x.t().to_doubles(); }), HasSubstr("to_host"));
    EXPECT_THAT(thrown_text<NoData>([&] { loss.to_string(); }), HasSubstr("to_string"));
    EXPECT_THAT(thrown_text<NoData>([&] {
                  b.x.to(Device{DeviceType::cpu, 9});
                }),
                HasSubstr("copy"));
    EXPECT_EQ(logical_device(loss.device()).memory_stats().in_use, before);
    EXPECT_EQ(logical_device(loss.device()).memory_stats().allocations, allocations);
    try {
      dp.step(
          b,
          [](Mlp& m, const Batch& part) {
            const WeightedSum part_loss = class_loss(m, part);
            static_cast<void>(part_loss.sum.item());
            return part_loss;
          },
          &optimizer);
      ADD_FAILURE() << "the loss was read";
    } catch (const ReplicaError& e) {
      EXPECT_NE(find_cause<NoData>(e), nullptr);
    }
    EXPECT_EQ(logical_device(loss.device()).memory_stats().in_use, before);
    dp.step(b, class_loss<Mlp>, &optimizer);
  }
  configure_devices(kWithData);
}

/// A line of /proc/self/status, in KiB.
long status(const char* key) {
  std::FILE* const file = std::fopen("/proc/self/status", "r");
  std::array<char, 256> line{};
  long kib = 0;
  while (std::fgets(line.data(), line.size(), file) != nullptr)
    if (std::string_view(line.data()).starts_with(key))
      kib = std::strtol(line.data() + std::string_view(key).size(), nullptr, 10);
  std::fclose(file);
  return kib;
}

TEST(ShapeOnlyTraining, Gpt2XlOnEightDevicesTakesItsBytesInNoMemory) {
  using nn::models::Gpt;
  for (const Mode mode : kModes) {
    const auto start = std::chrono::steady_clock::now();
    const std::vector<Device> eight = configure_devices("cpu:8@shape-only");
    std::array<std::size_t, 2> peaks{};
    {
      Gpt net(nn::models::gpt_options("gpt2-xl"));
      optim::AdamW optimizer(net.named_parameters(), {.lr = 1e-4});
      DataParallel dp(net, {.devices = eight, .mode = mode});
      const Batch b{randint(0, 50257, {8, 1024}), randint(0, 50257, {8, 1024})};
      for (const Device d : eight)
        logical_device(d).reset_peak();
      dp.step(
          b,
          [](Gpt& m, const Batch& part) {
            return cross_entropy_sum(m(part.x).flatten(0, 1), part.labels.flatten());
          },
          &optimizer);
      for (std::size_t d = 0; d < peaks.size(); ++d)
        peaks[d] = logical_device(eight[d]).memory_stats().peak;
    }
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::printf("gpt2-xl, %s: %.1f s, %ld MiB resident; peak of cpu:0 %.2f GiB, of cpu:1 %.2f\n",
                name(mode),
                seconds,
                status("VmRSS:") / 1024,
                static_cast<double>(peaks[0]) / (1 << 30),
                static_cast<double>(peaks[1]) / (1 << 30));
    // Of 1,557,611,200 parameters in f32: four copies are parameters, gradients and Adam's state.
    const std::size_t copy = 4UL * 1557611200;
    const bool shares_gradients = mode == Mode::fully_sharded || mode == Mode::sharded_gradients;
    EXPECT_GT(peaks[1], shares_gradients ? copy / 2 : 2 * copy);
    const bool has_all_state = mode == Mode::ddp || mode == Mode::server || mode == Mode::classic;
    EXPECT_EQ(peaks[0] > 4 * copy, has_all_state);
    EXPECT_LT(status("VmHWM:"), 2L << 20) << "KiB";
  }
  configure_devices(kWithData);
}

}  // namespace
}  // namespace tandem::parallel::test
