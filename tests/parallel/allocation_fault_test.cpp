// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <atomic>

#include <gmock/gmock.h>

#include "tandem/nn/replicate.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/parallel/replica_error.hpp"

#include "devices.hpp"
#include "parallel/nets.hpp"

// Each allocation of a step with its update fails, once or with all that follow: a typed error,
// nothing has changed, no byte is lost.
namespace tandem::parallel::test {
namespace {

constexpr int kMostAllocations = 2000;

enum class Lasts { once, for_ever };

/// Refuses the allocation that `left` counts down to, and, if so asked, all after it.
struct Failing : Allocator {
  Failing(Allocator& a, std::atomic<int>& n, Lasts l) : inner(a), left(n), lasts(l) {}
  void* allocate(std::size_t nbytes, Category category) override {
    const int now = left.fetch_sub(1);
    if (now == 1 || (now < 1 && lasts == Lasts::for_ever))
      throw OutOfMemory("test", nbytes, 0, 0, {});
    return inner.allocate(nbytes, category);
  }
  void deallocate(void* p, std::size_t nbytes, Category category) noexcept override {
    inner.deallocate(p, nbytes, category);
  }
  Allocator& inner;
  std::atomic<int>& left;
  Lasts lasts;
};

class AllocationFaults : public ::testing::TestWithParam<std::tuple<Mode, Lasts>> {};

TEST_P(AllocationFaults, HaveNoEffectButAnError) {
  const auto [mode, lasts] = GetParam();
  NormMlp net;
  optim::AdamW optimizer(net.named_parameters(), {.lr = 0.01});
  DataParallel dp(net, {.devices = devices(kDevices), .mode = mode, .gpu0_bsz = 3});
  const Batch batch = make_batch(11, 2, DType::f64, false);
  dp.step(batch, kLoss, &optimizer);
  optimizer.zero_grad();
  const auto bytes = [] {
    std::vector<std::size_t> in_use;
    for (const Device d : devices(kDevices))
      in_use.push_back(logical_device(d).memory_stats().in_use);
    return in_use;
  };
  const Values before = values_of(net);
  const auto held = bytes();
  std::atomic<int> left{INT32_MAX};
  for (const Device d : devices(kDevices)) {
    LogicalDevice& device = logical_device(d);
    device.set_wrapper(
        [&, l = lasts](Allocator& inner) { return std::make_unique<Failing>(inner, left, l); });
    int k = 1;
    for (bool failed = true; failed && k < kMostAllocations; ++k) {
      left = k;
      failed = false;
      try {
        dp.step(batch, kLoss, &optimizer);
      } catch (const ReplicaError& e) {
        failed = true;
        EXPECT_NE(find_cause<OutOfMemory>(e), nullptr) << e.what();
      }
      left = INT32_MAX;
      optimizer.zero_grad();
      if (!failed) break;
      ASSERT_EQ(values_of(net), before) << "allocation " << k << " on " << d;
      ASSERT_EQ(bytes(), held) << "allocation " << k << " on " << d;
    }
    device.set_wrapper(nullptr);
    EXPECT_GT(k, 10) << "the step allocates";
    // The step that went through is taken back, so that each device begins alike.
    for (auto& [name, x] : net.named_parameters())
      x.detach().copy_(from_host(std::span<const double>(before.at(name)), x.shape()));
    for (auto& [name, x] : net.named_buffers())
      x.detach().copy_(
          from_host(std::span<const double>(before.at(name)), x.shape()).to(x.dtype()));
  }
}

INSTANTIATE_TEST_SUITE_P(All,
                         AllocationFaults,
                         ::testing::Combine(::testing::ValuesIn(kModes),
                                            ::testing::Values(Lasts::once, Lasts::for_ever)),
                         [](const auto& instance) {
                           return std::string(name(std::get<0>(instance.param))) +
                                  (std::get<1>(instance.param) == Lasts::once ? "_once"
                                                                              : "_for_ever");
                         });

}  // namespace
}  // namespace tandem::parallel::test
