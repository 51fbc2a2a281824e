// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Mode fully_sharded: what each device holds, and what it sends. That it gives the bits of the
// other modes is in the tests that run in all of them.
#include <algorithm>
#include <array>
#include <mutex>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/parallel/data_parallel.hpp"
#include "tandem/profile/step_record.hpp"
#include "tandem/runtime/runtime.hpp"

#include "devices.hpp"
#include "parallel/nets.hpp"
#include "parallel/units/block_shares.hpp"

namespace tandem::parallel::test {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Four layers that are four units of different sizes.
struct FourLayers : nn::Module {
  nn::Linear first{12, 40}, second{40, 30}, third{30, 20}, head{20, 5};
  Tensor forward(const Tensor& x) {
    return head(tanh(third(tanh(second(tanh(first(x.flatten(1))))))));
  }
  TANDEM_MODULE(FourLayers, first, second, third, head)
};

Batch f32_batch() {
  return make_batch(12, 1, DType::f32, false);
}

/// The highest bytes that each device had in a category.
class Peaks final : public Observer {
 public:
  explicit Peaks(Category category) : category_(category) {}
  void on_memory(const MemoryEvent& event) noexcept override {
    if (event.category != category_ || event.device.index >= kMost) return;
    const std::scoped_lock lock(mutex_);
    auto& now = now_[static_cast<std::size_t>(event.device.index)];
    now += (event.kind == MemoryEvent::Kind::allocate ? 1 : -1) *
           static_cast<std::int64_t>(event.nbytes);
    auto& most = most_[static_cast<std::size_t>(event.device.index)];
    most = std::max(most, now);
  }
  std::int64_t above_rest(Device device) const {
    return most_[static_cast<std::size_t>(device.index)];
  }

 private:
  static constexpr int kMost = 16;
  Category category_;
  std::mutex mutex_;
  std::array<std::int64_t, kMost> now_{}, most_{};
};

class FullyShardedTest : public ::testing::TestWithParam<int> {
 protected:
  /// Bytes of the units of `net`, padded as the shares of so many devices.
  std::vector<std::int64_t> unit_nbytes(nn::Module& net) const {
    std::vector<std::int64_t> units;
    const std::int64_t multiple = 64 * n_;
    for (const nn::NamedModule& part : net.children()) {
      std::int64_t numel = 0;
      for (const Tensor& x : part.module->parameters())
        numel += (x.numel() + 63) / 64 * 64;  // Allocator::kAlignment bytes
      units.push_back((numel + multiple - 1) / multiple * multiple * 4);
    }
    return units;
  }
  static std::int64_t two_neighbours(const std::vector<std::int64_t>& units) {
    std::int64_t most = 0;
    for (std::size_t u = 0; u + 1 < units.size(); ++u)
      most = std::max(most, units[u] + units[u + 1]);
    return most;
  }
  static std::size_t sent_by(Device device, const profile::StepRecord& recorded) {
    std::size_t sent = 0;
    for (const auto& [link, traffic] : profile::traffic(recorded))
      if (link.source == device)
        for (const Category c : {Category::parameter, Category::gradient})
          sent += traffic.by_category[static_cast<std::size_t>(c)];
    return sent;
  }
  /// Bytes of parameters, gradients and state.
  using Held = std::array<std::size_t, 3>;
  /// By device.
  std::vector<Held> held() const {
    std::vector<Held> all;
    for (const Device d : devices_) {
      const auto bytes = logical_device(d).memory_stats().by_category;
      const auto of = [&](Category c) { return bytes[static_cast<std::size_t>(c)]; };
      all.push_back({of(Category::parameter), of(Category::gradient), of(Category::optimizer)});
    }
    return all;
  }
  /// Every device has come to hold `more` than before.
  void expect_held(const Held& more, const std::vector<Held>& before) const {
    const std::vector<Held> now = held();
    for (std::size_t d = 0; d < now.size(); ++d)
      for (std::size_t k = 0; k < more.size(); ++k)
        EXPECT_EQ(now[d][k] - before[d][k], more[k]) << devices_[d] << ", number " << k;
  }

  const int n_ = GetParam();
  const std::vector<Device> devices_ = devices(n_);
};

TEST_P(FullyShardedTest, ADeviceHoldsItsShareOfEverything) {
  const std::vector<Held> before = held();
  FourLayers net;
  const auto units = unit_nbytes(net);
  const auto each =
      static_cast<std::size_t>(std::accumulate(units.begin(), units.end(), std::int64_t{0}) / n_);
  DataParallel dp(net, {.devices = devices_, .mode = Mode::fully_sharded});
  optim::Adam adam(net.named_parameters(), {.lr = 0.01});
  dp.step(f32_batch(), kLoss, &adam);
  expect_held({each, each, 2 * each}, before);
}

TEST_P(FullyShardedTest, AStepHoldsOneUnitOfValuesAndTwoOfGradientsBesides) {
  FourLayers net;
  const auto units = unit_nbytes(net);
  DataParallel dp(net, {.devices = devices_, .mode = Mode::fully_sharded});
  optim::Adam adam(net.named_parameters(), {.lr = 0.01});
  dp.step(f32_batch(), kLoss, &adam);
  Peaks values(Category::parameter), gradients(Category::gradient);
  {
    const Subscription a(values), b(gradients);
    dp.step(f32_batch(), kLoss, &adam);
  }
  for (const Device d : devices_) {
    EXPECT_EQ(values.above_rest(d), *std::ranges::max_element(units)) << d;
    EXPECT_LE(gradients.above_rest(d), two_neighbours(units)) << d;
    EXPECT_GE(gradients.above_rest(d), *std::ranges::max_element(units)) << d;
  }
}

TEST_P(FullyShardedTest, AStepSendsGradientsOnceAndValuesWhereTheyAreUsed) {
  FourLayers net;
  const auto units = unit_nbytes(net);
  DataParallel dp(net, {.devices = devices_, .mode = Mode::fully_sharded});
  optim::Adam adam(net.named_parameters(), {.lr = 0.01});
  dp.step(f32_batch(), kLoss, &adam);
  const auto recorded = profile::record([&] { dp.step(f32_batch(), kLoss, &adam); });
  const std::int64_t whole = std::accumulate(units.begin(), units.end(), std::int64_t{0});
  // Backward finds the last unit there, and needs no values of the first one: the batch has no
  // gradient.
  const std::int64_t gathered = 2 * whole - units.back() - units.front();
  const auto expected = static_cast<std::size_t>((whole + gathered) / n_ * (n_ - 1));
  for (const Device d : devices_)
    EXPECT_EQ(sent_by(d, recorded), expected) << d;
}

TEST_P(FullyShardedTest, UnitsThatAreGatheredAheadAreThereBesides) {
  for (const std::size_t prefetch : {1, 2}) {
    FourLayers net;
    const auto units = unit_nbytes(net);
    DataParallel dp(
        net,
        {.devices = devices_, .mode = Mode::fully_sharded, .sharding = {.prefetch = prefetch}});
    optim::Adam adam(net.named_parameters(), {.lr = 0.01});
    Peaks first(Category::parameter);
    {
      const Subscription subscription(first);
      dp.step(f32_batch(), kLoss, &adam);
    }
    Peaks values(Category::parameter);
    const auto recorded = profile::record([&] {
      const Subscription subscription(values);
      dp.step(f32_batch(), kLoss, &adam);
    });
    const std::int64_t whole = std::accumulate(units.begin(), units.end(), std::int64_t{0});
    const std::int64_t gathered = 2 * whole - units.back() - units.front();
    const auto sent = static_cast<std::size_t>((whole + gathered) / n_ * (n_ - 1));
    const std::int64_t of_three =
        std::max(units[0] + units[1] + units[2], units[1] + units[2] + units[3]);
    for (const Device d : devices_) {
      EXPECT_EQ(first.above_rest(d), *std::ranges::max_element(units)) << "no order is known";
      EXPECT_EQ(values.above_rest(d), prefetch == 1 ? two_neighbours(units) : of_three) << d;
      EXPECT_EQ(sent_by(d, recorded), sent) << "nothing is gathered in vain; " << d;
    }
  }
}

TEST_P(FullyShardedTest, WithGradientsAloneADeviceHoldsAllValues) {
  const std::vector<Held> before = held();
  FourLayers net;
  const auto units = unit_nbytes(net);
  const auto whole =
      static_cast<std::size_t>(std::accumulate(units.begin(), units.end(), std::int64_t{0}));
  const std::size_t each = whole / static_cast<std::size_t>(n_);
  DataParallel dp(net, {.devices = devices_, .mode = Mode::sharded_gradients});
  optim::Adam adam(net.named_parameters(), {.lr = 0.01});
  dp.step(f32_batch(), kLoss, &adam);
  Peaks gradients(Category::gradient);
  const auto recorded = profile::record([&] {
    const Subscription subscription(gradients);
    dp.step(f32_batch(), kLoss, &adam);
  });
  expect_held({whole, each, 2 * each}, before);
  for (const Device d : devices_) {
    EXPECT_LE(gradients.above_rest(d), two_neighbours(units)) << d;
    EXPECT_EQ(sent_by(d, recorded), 2 * (whole - each)) << d;
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, FullyShardedTest, ::testing::Values(2, 3, 4, 8));

/// The values after some steps of each kind that there is.
Values trained(const DataParallelOptions& options) {
  manual_seed(8);
  Mlp net;
  DataParallel dp(net, options);
  optim::Adam adam(net.named_parameters(), {.lr = 0.01});
  for (int step = 0; step < 6; ++step) {
    adam.zero_grad();
    const Batch batch = make_batch(12, static_cast<std::uint64_t>(step), DType::f64, false);
    if (step == 2) {
      const autograd::NoGrad off;
      dp(batch.x);
    }
    if (step == 3) {
      cross_entropy(dp(batch.x), batch.labels).backward();
      adam.step();
    } else if (step == 4) {  // units in another order
      dp.step(
          batch,
          [](Mlp& m, const Batch& b) {
            return cross_entropy_sum(m(b.x) + m.head(m.hidden(b.x.flatten(1))), b.labels);
          },
          &adam);
    } else {
      dp.step(batch, kLoss, &adam);
    }
  }
  return values_of(net);
}

TEST(FullyShardedPrefetch, ChangesNoBit) {
  DataParallelOptions options{.devices = devices(kDevices), .mode = Mode::fully_sharded};
  const std::optional<Device> elsewhere = testing::device(7);
  for (const auto& offload : {std::optional<Device>(), elsewhere})
    for (const std::int64_t accumulate : {1, 2})
      for (const bool reshard : {true, false}) {
        options.sharding.offload = offload;
        options.accumulate = accumulate;
        options.sharding.reshard_after_forward = reshard;
        options.sharding.prefetch = 0;
        const Values expected = trained(options);
        for (const std::size_t prefetch : {1, 3}) {
          options.sharding.prefetch = prefetch;
          EXPECT_EQ(trained(options), expected) << prefetch << ' ' << accumulate << ' ' << reshard;
        }
      }
}

TEST(FullyShardedPrefetch, IsOfThisModeAlone) {
  Mlp net;
  EXPECT_THAT(
      [&] {
        DataParallel(net,
                     {.devices = devices(2), .mode = Mode::sharded, .sharding = {.prefetch = 1}});
      },
      ThrowsMessage<InvalidArgument>(
          HasSubstr("prefetch of 1 units is for mode fully_sharded, and this is sharded")));
}

TEST(FullyShardedModule, IsThereWhenTheWrapperHasEnded) {
  Mlp net;
  const Values before = values_of(net);
  {
    DataParallel dp(net, {.devices = devices(3), .mode = Mode::fully_sharded});
    EXPECT_TRUE(net.hidden.weight.buffer().is_dropped());
    EXPECT_EQ(values_of(net), before);
  }
  EXPECT_FALSE(net.hidden.weight.buffer().is_dropped());
  EXPECT_FALSE(net.head.weight.buffer().is_dropped());
  EXPECT_EQ(values_of(net), before);
}

TEST(FullyShardedModule, IsReadAUnitAtATime) {
  Mlp net;
  DataParallel dp(net, {.devices = devices(3), .mode = Mode::fully_sharded});
  net.hidden.weight.to_doubles();
  net.head.weight.to_doubles();
  EXPECT_TRUE(net.hidden.weight.buffer().is_dropped());
  EXPECT_FALSE(net.head.weight.buffer().is_dropped());
}

TEST(FullyShardedModule, UnitsThatDoNotFitAreRefusedAtOnce) {
  Mlp net;
  EXPECT_THAT(
      [&] {
        DataParallel dp(net,
                        {.devices = devices(2),
                         .mode = Mode::fully_sharded,
                         .sharding = {.units = UnitPolicy::names({"blocks.*"})}});
      },
      ThrowsMessage<InvalidArgument>(HasSubstr("'hidden' (Linear)")));
  DataParallel dp(net,
                  {.devices = devices(2), .mode = Mode::fully_sharded});  // nothing has changed
}

}  // namespace
}  // namespace tandem::parallel::test
