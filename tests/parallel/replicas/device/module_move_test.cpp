// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// What devices hold while a module is wrapped, and a module that is elsewhere before.
#include "parallel/replicas/device/module_move.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/optim/adam.hpp"
#include "tandem/parallel/mode_formulas.hpp"
#include "tandem/profile/memory_profile.hpp"

#include "devices.hpp"
#include "failing_allocator.hpp"
#include "parallel/nets.hpp"

namespace tandem::parallel::test {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using Figure = ModeFormulas::Figure;

constexpr int kElsewhere = 7;

Device elsewhere() {
  return testing::device(kElsewhere);
}

/// Four layers of different sizes.
struct Layers : nn::Module {
  nn::Linear first{12, 40}, second{40, 30}, third{30, 20}, head{20, 5};
  Tensor forward(const Tensor& x) {
    return head(tanh(third(tanh(second(tanh(first(x.flatten(1))))))));
  }
  TANDEM_MODULE(Layers, first, second, third, head)
};

/// Bytes of a category that a device held at most, above those it held before.
std::size_t most(const profile::DeviceMemory& memory, Category category) {
  const auto c = static_cast<std::size_t>(category);
  return profile::peak_of_each_category(memory)[c] - memory.timeline.front().by_category[c];
}

/// The bytes while a module is wrapped.
profile::MemoryProfile while_wrapped(Layers& net, const DataParallelOptions& options) {
  const std::vector<Device> all = devices(kElsewhere + 1);
  std::unique_ptr<DataParallel<Layers>> dp;
  return profile::record_memory(std::span(all),
                                [&] { dp = std::make_unique<DataParallel<Layers>>(net, options); });
}

class WrappingTest : public ::testing::TestWithParam<int> {
 protected:
  ModeFormulas formulas(Layers& net, Mode mode) const {
    return {net, {.mode = mode, .devices = GetParam()}};
  }
  DataParallelOptions options(Mode mode) const {
    return {.devices = devices(GetParam()), .mode = mode};
  }
};

TEST_P(WrappingTest, OtherDevicesHoldNoMoreThanTheirShares) {
  Layers net;
  const ModeFormulas say = formulas(net, Mode::fully_sharded);
  const auto memory = while_wrapped(net, options(Mode::fully_sharded));
  for (int d = 1; d < GetParam(); ++d) {
    const auto& device = memory.devices[static_cast<std::size_t>(d)];
    EXPECT_EQ(most(device, Category::parameter), say.nbytes(Figure::parameters, d)) << d;
    EXPECT_EQ(most(device, Category::gradient), say.nbytes(Figure::gradients, d)) << d;
    EXPECT_EQ(device.peak, device.in_use) << d;
  }
}

TEST_P(WrappingTest, NoDeviceMakesWholeGradientsToGiveThemBack) {
  Layers net;
  const ModeFormulas say = formulas(net, Mode::sharded_gradients);
  const auto memory = while_wrapped(net, options(Mode::sharded_gradients));
  for (int d = 0; d < GetParam(); ++d)
    EXPECT_EQ(most(memory.devices[static_cast<std::size_t>(d)], Category::gradient),
              say.nbytes(Figure::gradients, d));
}

TEST_P(WrappingTest, TheFirstDeviceTakesAUnitAtATimeFromElsewhere) {
  Layers net;
  net.to(elsewhere());
  const ModeFormulas say = formulas(net, Mode::fully_sharded);
  DataParallelOptions from_elsewhere = options(Mode::fully_sharded);
  from_elsewhere.init_on = elsewhere();
  const auto memory = while_wrapped(net, from_elsewhere);
  const std::size_t share = say.nbytes(Figure::parameters, 0);
  const std::size_t unit = say.nbytes(Figure::parameters_in_step, 0);
  EXPECT_LE(most(memory.devices[0], Category::parameter), share + unit);
  EXPECT_GE(most(memory.devices[0], Category::parameter), unit);
  for (int d = 1; d < GetParam(); ++d) {
    const auto& device = memory.devices[static_cast<std::size_t>(d)];
    EXPECT_EQ(most(device, Category::parameter), share) << d;
  }
  EXPECT_EQ(memory.devices[kElsewhere].in_use, logical_device(elsewhere()).memory_stats().in_use);
  EXPECT_EQ(most(memory.devices[kElsewhere], Category::parameter), 0U);
}

INSTANTIATE_TEST_SUITE_P(Devices, WrappingTest, ::testing::Values(2, 3, 4));

class ModuleMoveTest : public ::testing::TestWithParam<Mode> {
 protected:
  DataParallelOptions from_elsewhere() const {
    return {.devices = devices(kDevices), .mode = GetParam(), .init_on = elsewhere()};
  }
};

/// What steps make of a module that the caller has put on `device`.
Values trained_from(Device device, const DataParallelOptions& options) {
  manual_seed(3);
  NormMlp net;
  net.to(device);
  optim::Adam adam(net.named_parameters(), {.lr = 0.01});
  const Batch first = small_batch();  // a step before the module is wrapped
  cross_entropy(net(first.x.to(device)), first.labels.to(device)).backward();
  adam.step();
  adam.zero_grad();
  DataParallel dp(net, options);
  for (std::uint64_t step = 0; step < 3; ++step)
    dp.step(small_batch(step), kLoss, &adam);
  for (const auto& [name, x] : net.named_parameters())
    EXPECT_EQ(x.device(), options.devices.front()) << name;
  return values_of(net);
}

TEST_P(ModuleMoveTest, TrainsToTheSameBits) {
  const Values here =
      trained_from(testing::device(0), {.devices = devices(kDevices), .mode = GetParam()});
  EXPECT_EQ(trained_from(elsewhere(), from_elsewhere()), here);
}

TEST_P(ModuleMoveTest, LeavesNothingBehind) {
  const std::size_t before = logical_device(elsewhere()).memory_stats().in_use;
  NormMlp net;
  net.to(elsewhere());
  const DataParallel dp(net, from_elsewhere());
  EXPECT_EQ(logical_device(elsewhere()).memory_stats().in_use, before);
  for (const Tensor& x : net.buffers())
    EXPECT_EQ(x.device(), testing::device(0));
}

/// Where the tensors of a module lie.
std::vector<const void*> places_of(const nn::Module& net) {
  std::vector<const void*> places;
  for (const auto& list : {net.parameters(), net.buffers()})
    for (const Tensor& x : list)
      places.push_back(&x.buffer());
  return places;
}

TEST_P(ModuleMoveTest, AFailureLeavesTheModuleWhereItWas) {
  NormMlp net;
  net.to(elsewhere());
  optim::Adam adam(net.named_parameters(), {.lr = 0.01});
  const auto bytes = [] {
    std::vector<std::size_t> in_use;
    for (const Device d : devices(kElsewhere + 1))
      in_use.push_back(logical_device(d).memory_stats().in_use);
    return in_use;
  };
  const auto places = places_of(net);
  const Values values = values_of(net);
  const auto held = bytes();
  int failures = 0;
  for (bool fails = true; fails; failures += int{fails}) {
    std::atomic<int> left{failures + 1};
    for (const Device d : devices(kDevices))
      logical_device(d).set_wrapper([&](Allocator& inner) {
        return std::make_unique<testing::FailingAllocator>(inner, left);
      });
    try {
      const DataParallel dp(net, from_elsewhere());
      fails = false;
    } catch (const OutOfMemory&) {
      EXPECT_EQ(places_of(net), places) << failures;
      EXPECT_EQ(values_of(net), values) << failures;
    }
    for (const Device d : devices(kDevices))
      logical_device(d).set_wrapper(nullptr);
    EXPECT_EQ(bytes() == held, fails) << failures;
  }
  EXPECT_GE(failures, kDevices);
}

INSTANTIATE_TEST_SUITE_P(All, ModuleMoveTest, ::testing::ValuesIn(kModes));

TEST(ModuleMove, IsRefusedWhereItWouldBreakSomething) {
  Mlp net;
  const auto wrap = [&] {
    const DataParallel dp(net, {.devices = devices(2), .init_on = elsewhere()});
  };
  EXPECT_THAT(wrap,
              ThrowsMessage<InvalidArgument>(
                  HasSubstr("'hidden.weight' is on " + testing::device_name(0) +
                            ", but init_on is " + testing::device_name(kElsewhere))));
  net.to(elsewhere());
  cross_entropy(net(small_batch().x.to(elsewhere())), small_batch().labels.to(elsewhere()))
      .backward();
  EXPECT_THAT(
      wrap,
      ThrowsMessage<InvalidArgument>(HasSubstr("but it has a gradient; call zero_grad() first")));
  net.zero_grad();
  EXPECT_NO_THROW(wrap());
}

}  // namespace
}  // namespace tandem::parallel::test
