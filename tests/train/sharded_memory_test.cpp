// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// What device 0 holds while a run in mode fully_sharded is saved and loaded.

#include <algorithm>
#include <functional>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/nn/linear.hpp"
#include "tandem/ops/activation.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/parallel/data_parallel.hpp"
#include "tandem/profile/step_record.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/train/sharded_checkpoint.hpp"

#include "devices.hpp"
#include "io/temp_dir.hpp"
#include "parallel/nets.hpp"

namespace tandem::training::test {
namespace {

using tandem::testing::devices;

/// Four layers that are four units of different sizes.
struct FourLayers : nn::Module {
  nn::Linear first{12, 40}, second{40, 30}, third{30, 20}, head{20, 5};
  Tensor forward(const Tensor& x) {
    return head(tanh(third(tanh(second(tanh(first(x.flatten(1))))))));
  }
  TANDEM_MODULE(FourLayers, first, second, third, head)
};

/// A run after one step.
struct TrainedLayers {
  explicit TrainedLayers(int n)
      : dp(net, {.devices = devices(n), .mode = parallel::Mode::fully_sharded}),
        adam(net.named_parameters(), {.lr = 0.01}) {
    dp.step(parallel::test::make_batch(12, 1, DType::f32, false), parallel::test::kLoss, &adam);
  }
  FourLayers net;
  parallel::DataParallel<FourLayers> dp;
  optim::Adam adam;
};

class ShardedMemoryTest : public ::testing::TestWithParam<int> {
 protected:
  /// Bytes of the units, padded as the shares of so many devices.
  std::vector<std::size_t> units(nn::Module& net) const {
    std::vector<std::size_t> all;
    const std::int64_t multiple = 64 * n_;
    for (const nn::NamedModule& part : net.children()) {
      std::int64_t elements = 0;
      for (const Tensor& x : part.module->parameters())
        elements += (x.numel() + 63) / 64 * 64;  // Allocator::kAlignment bytes
      all.push_back(static_cast<std::size_t>((elements + multiple - 1) / multiple * multiple * 4));
    }
    return all;
  }
  std::size_t largest_unit(nn::Module& net) const {
    const auto all = units(net);
    return *std::ranges::max_element(all);
  }
  /// How far device 0 goes, in `f`, above what it has when nothing is gathered.
  std::size_t above(TrainedLayers& run, const std::function<void()>& f) const {
    run.dp.step(parallel::test::make_batch(12, 1, DType::f32, false), parallel::test::kLoss);
    LogicalDevice& first = logical_device(tandem::testing::device(0));
    first.reset_peak();
    const std::size_t before = first.memory_stats().in_use;
    f();
    return first.memory_stats().peak - before;
  }

  const int n_ = GetParam();
  tandem::testing::TempDir dir_;
};

TEST_P(ShardedMemoryTest, SavesAndLoadsHoldOneUnitAtATime) {
  TrainedLayers run(n_);
  const std::size_t unit = largest_unit(run.net);
  const RunState state{.model = "four"};
  const std::string file = dir_.file("file"), folder = dir_.file("folder");
  const auto save_file = [&] { save_checkpoint(file, run.net, run.adam, state); };
  const auto save_folder = [&] {
    save_sharded_checkpoint(folder, run.net, run.adam, state, {.files = n_});
  };
  EXPECT_EQ(above(run, save_file), unit);
  EXPECT_EQ(above(run, save_folder), unit);
  for (const std::string& path : {file, folder}) {
    TrainedLayers other(n_);
    EXPECT_EQ(above(other, [&] { load_checkpoint(path, other.net, other.adam, state); }), unit);
    EXPECT_EQ(above(other, [&] { load_model(path, other.net); }), unit);
  }
}

TEST_P(ShardedMemoryTest, GathersEachUnitOnceForASave) {
  TrainedLayers run(n_);
  const std::string folder = dir_.file("folder");
  const auto recorded = profile::record([&] {
    save_sharded_checkpoint(folder, run.net, run.adam, {.model = "four"}, {.files = n_});
  });
  std::size_t sent = 0;
  for (const auto& [link, traffic] : profile::traffic(recorded))
    for (const std::size_t bytes : traffic.by_category)
      sent += bytes;
  std::size_t whole = 0;
  for (const std::size_t bytes : units(run.net))
    whole += bytes;
  const auto n = static_cast<std::size_t>(n_);
  EXPECT_EQ(sent, whole / n * (n - 1));  // to device 0, which has its share
}

INSTANTIATE_TEST_SUITE_P(Devices, ShardedMemoryTest, ::testing::Values(2, 3, 4, 8));

}  // namespace
}  // namespace tandem::training::test
