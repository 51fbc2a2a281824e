// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/reduce/parameter_hooks.hpp"

#include <optional>

#include <gmock/gmock.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/nn/replicate.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/optim/sgd.hpp"

#include "devices.hpp"
#include "parallel/engine.hpp"
#include "parallel/nets.hpp"

// A hook on a parameter sees the whole gradient once, on any number of devices, as on one.
namespace tandem::parallel::test {
namespace {

struct Case {
  Mode mode;
  int devices;
  std::optional<std::int64_t> gpu0_bsz = std::nullopt;
};

void PrintTo(const Case& c, std::ostream* s) {
  *s << name(c.mode) << " on " << c.devices << (c.gpu0_bsz ? ", none on device 0" : "");
}

class ParameterHooksTest : public ::testing::TestWithParam<Case> {
 protected:
  DataParallelOptions options() const {
    return {.devices = devices(GetParam().devices),
            .mode = GetParam().mode,
            .gpu0_bsz = GetParam().gpu0_bsz};
  }
};

/// What hooks see and leave of a gradient of ones, six rows.
struct Seen {
  std::vector<double> gradients;
  int accumulated = 0;
};

void set_hooks(const Tensor& weight, Seen& seen) {
  autograd::register_hook(weight, [&seen](const Tensor& g) {
    seen.gradients.push_back(g.item());
    return g * 2.0;
  });
  autograd::set_accumulate_hook(weight, [&seen](const Tensor&) { ++seen.accumulated; });
}

struct One : nn::Module {
  nn::Linear inner{1, 1, {.bias = false, .dtype = DType::f64}};
  Tensor forward(const Tensor& x) { return inner(x); }
  TANDEM_MODULE(One, inner)
};

Tensor ones_of_six() {
  return ones({6, 1}, {.dtype = DType::f64, .device = devices(1)[0]});
}

constexpr auto kSum = [](One& net, const Tensor& x) {
  return WeightedSum{sum(net(x)), ones({}, {.dtype = DType::f64, .device = x.device()})};
};

TEST_P(ParameterHooksTest, SeeTheSumOnceInABackward) {
  for (const bool before : {true, false}) {
    One net;
    Seen seen;
    if (before) set_hooks(net.inner.weight, seen);
    DataParallel dp(net, options());
    if (!before) set_hooks(net.inner.weight, seen);
    dp(ones_of_six()).sum().backward();
    EXPECT_THAT(seen.gradients, ::testing::ElementsAre(6));
    EXPECT_EQ(net.inner.weight.grad().item(), 12);
    EXPECT_EQ(seen.accumulated, 1);
    dp(ones_of_six()).sum().backward();
    EXPECT_THAT(seen.gradients, ::testing::ElementsAre(6, 6))
        << "that of the second backward alone";
    EXPECT_EQ(net.inner.weight.grad().item(), 24);
  }
}

TEST_P(ParameterHooksTest, SeeWhatComesFromOutsideOfTheWrapperToo) {
  One net;
  Seen seen;
  set_hooks(net.inner.weight, seen);
  DataParallel dp(net, options());
  (dp(ones_of_six()).sum() + net.inner.weight.sum() * 3.0).backward();
  EXPECT_THAT(seen.gradients, ::testing::ElementsAre(9));
  EXPECT_EQ(net.inner.weight.grad().item(), 18);
}

TEST_P(ParameterHooksTest, SeeTheSumOnceInAStep) {
  for (const std::int64_t parts : {1, 2}) {
    One net;
    Seen seen;
    DataParallelOptions o = options();
    o.accumulate = parts;
    DataParallel dp(net, o);
    set_hooks(net.inner.weight, seen);
    const StepResult result = dp.step(ones_of_six(), kSum);
    const double right = 6 / result.weight;
    ASSERT_EQ(seen.gradients.size(), 1u);
    EXPECT_NEAR(seen.gradients[0], right, 1e-12);
    EXPECT_NEAR(net.inner.weight.grad().item(), 2 * right, 1e-12);
    EXPECT_EQ(seen.accumulated, 1);
    dp.step(ones_of_six(), kSum);
    EXPECT_NEAR(seen.gradients[1], right, 1e-12) << "that of the second step alone";
    EXPECT_NEAR(net.inner.weight.grad().item(), 4 * right, 1e-12);
  }
}

TEST_P(ParameterHooksTest, ChangeTheUpdateAsOnOneDevice) {
  manual_seed(2);
  Mlp net;
  Mlp alone = nn::clone(net);
  const auto halve = [](const Tensor& g) { return g * 0.5; };
  const auto with_hooks = [&](Mlp& m) {
    autograd::register_hook(m.hidden.weight, halve);
    autograd::register_hook(m.head.bias, [](const Tensor& g) { return clamp(g, -0.01, 0.01); });
  };
  with_hooks(net);
  with_hooks(alone);
  optim::SGD optimizer(net.named_parameters(), {.lr = 0.1, .momentum = 0.9});
  optim::SGD other(alone.named_parameters(), {.lr = 0.1, .momentum = 0.9});
  DataParallel dp(net, options());
  for (int step = 0; step < 4; ++step) {
    const Batch batch = small_batch(static_cast<std::uint64_t>(step));
    if (step % 2 == 0) {
      dp.step(batch, kLoss, &optimizer);
    } else {
      optimizer.zero_grad();
      cross_entropy(dp(batch.x), batch.labels).backward();
      optimizer.step();
    }
    other.zero_grad();
    cross_entropy(alone(batch.x), batch.labels).backward();
    other.step();
  }
  EXPECT_LT(difference(values_of(net), values_of(alone)), 1e-12);
}

TEST_P(ParameterHooksTest, ThatFailLeaveTheStepWithoutEffect) {
  One net;
  DataParallel dp(net, options());
  optim::SGD optimizer(net.named_parameters(), {.lr = 0.1});
  const double before = net.inner.weight.item();
  const int id = autograd::register_hook(net.inner.weight, [](const Tensor&) -> Tensor {
    throw InvalidArgument("the hook does not want it");
  });
  EXPECT_THROW(dp.step(ones_of_six(), kSum, &optimizer), ReplicaError);
  EXPECT_EQ(net.inner.weight.item(), before);
  autograd::remove_hook(net.inner.weight, id);
  dp.step(ones_of_six(), kSum, &optimizer);
  EXPECT_NE(net.inner.weight.item(), before);
}

TEST_P(ParameterHooksTest, SeeTheSumUnderNoSync) {
  One net;
  Seen seen;
  set_hooks(net.inner.weight, seen);
  DataParallel dp(net, options());
  {
    const auto scope = dp.no_sync();
    dp(ones_of_six()).sum().backward();
    dp.step(ones_of_six(), kSum);
  }
  ASSERT_EQ(seen.gradients.size(), 2u);
  EXPECT_EQ(seen.gradients[0], 6);
}

TEST_P(ParameterHooksTest, StayWhenTheWrapperGoes) {
  One net;
  Seen seen;
  set_hooks(net.inner.weight, seen);
  { DataParallel dp(net, options()); }
  net(ones_of_six()).sum().backward();
  EXPECT_THAT(seen.gradients, ::testing::ElementsAre(6));
  EXPECT_EQ(seen.accumulated, 1);
}

TEST(ParameterHooks, SeeAGradientThatIsAskedForByGrad) {
  One net;
  Seen seen;
  set_hooks(net.inner.weight, seen);
  DataParallel dp(net, {.devices = devices(3)});
  const Tensor g = autograd::grad({dp(ones_of_six()).sum()}, {net.inner.weight})[0];
  EXPECT_THAT(seen.gradients, ::testing::ElementsAre(6));
  EXPECT_EQ(g.item(), 12);
  EXPECT_EQ(seen.accumulated, 0) << "nothing was accumulated";
}

/// Hooks of Affine's bias, on the gradient of a backward through a row of ones: 24.
struct Hooked : TestReplicas {
  explicit Hooked(int n = 1, Mode mode = Mode::server)
      : TestReplicas(n, mode), parameters(replicas, rules, {1, 1}) {}

  void add_hooks() {
    autograd::register_hook(modules[0].bias, [this](const Tensor& g) {
      seen.push_back(g.item());
      return g * 2.0;
    });
  }
  void go_backward() { sum(modules[0](numbered_rows({0, 1}, list[0]))).backward(); }

  ModuleParameters parameters;
  std::vector<double> seen;
};

TEST(HeldHooksTest, WaitUntilTheyAreRunAndRunAtOnceAfterTheScope) {
  Hooked h;
  h.add_hooks();
  {
    const ParameterHooks hooks(h.parameters.arena());
    EXPECT_TRUE(hooks.any());
    h.go_backward();
    h.go_backward();
    EXPECT_TRUE(h.seen.empty());
    hooks.run(GradientPlace::spread, [](std::size_t) {});
    EXPECT_THAT(h.seen, ::testing::ElementsAre(48)) << "once, with the sum";
    EXPECT_EQ(h.modules[0].bias.grad().item(), 96);
  }
  h.modules[0].bias.set_grad({});
  h.go_backward();
  EXPECT_THAT(h.seen, ::testing::ElementsAre(48, 24));
}

TEST(HeldHooksTest, OfAParameterWithoutGradientDoNotRun) {
  Hooked h;
  h.add_hooks();
  const ParameterHooks hooks(h.parameters.arena());
  hooks.run(GradientPlace::spread, [](std::size_t) {});
  EXPECT_TRUE(h.seen.empty());
}

TEST(HeldHooksTest, ThereAreNoneWithoutHooksOrParameters) {
  Hooked h;
  EXPECT_FALSE(has_parameter_hooks(*h.parameters.arena()));
  EXPECT_FALSE(ParameterHooks(h.parameters.arena()).any());
  EXPECT_FALSE(ParameterHooks(optim::Arena::none(testing::device(0))).any());
  h.add_hooks();
  EXPECT_TRUE(has_parameter_hooks(*h.parameters.arena()));
}

TEST(HeldHooksTest, SeeSharesOfOtherDevicesAndSendThemBack) {
  SharedUpdate s(2, Mode::sharded);
  const auto arena = s.parameters.arena();
  arena->share(std::shared_ptr<optim::ArenaSharing>(s.update, s.update->sharing()));
  std::vector<double> seen;
  autograd::register_hook(s.modules[0].weight, [&seen](const Tensor& g) {
    seen = g.to_doubles();
    return g * 10.0;
  });
  s.gradients(0).fill_(1);
  s.gradients(1).fill_(2);
  s.modules[0].weight.set_grad(arena->gradient(0));
  const ParameterHooks hooks(arena);
  hooks.run(GradientPlace::spread, [](std::size_t) {});
  // The weight's 24 elements begin its bucket of 32, of which device 0 has 16.
  for (std::size_t i = 0; i < seen.size(); ++i)
    EXPECT_EQ(seen[i], i < 16 ? 1 : 2) << "element " << i;
  const std::vector<double> share = s.gradients(1).to_doubles();
  EXPECT_EQ(share[16], 20);
  EXPECT_EQ(share[23], 20);
  EXPECT_EQ(share[0], 2) << "of device 0's share, nothing is sent";
}

TEST(HeldHooksTest, GiveEveryCopyTheirResult) {
  SharedUpdate s(2, Mode::ddp);
  const auto arena = s.parameters.arena();
  arena->share(std::shared_ptr<optim::ArenaSharing>(s.update, s.update->sharing()));
  autograd::register_hook(s.modules[0].weight, [](const Tensor& g) { return g * 10.0; });
  s.gradients(0).fill_(1);
  s.gradients(1).fill_(2);
  s.modules[0].weight.set_grad(arena->gradient(0));
  const ParameterHooks hooks(arena);
  hooks.run(GradientPlace::spread, [](std::size_t) {});
  const auto weight = s.parameters.arenas()[1]->gradient(0),
             bias = s.parameters.arenas()[1]->gradient(1);
  EXPECT_THAT(weight.to_doubles(), ::testing::Each(10)) << "device 0's counts";
  EXPECT_THAT(bias.to_doubles(), ::testing::Each(2)) << "it has no hook";
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Mode mode : kModes) {
    for (const int n : {1, 2, 3})
      all.push_back({mode, n});
    all.push_back({mode, 3, 0});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Cases, ParameterHooksTest, ::testing::ValuesIn(cases()));

}  // namespace
}  // namespace tandem::parallel::test
