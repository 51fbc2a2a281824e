// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <thread>

#include <gmock/gmock.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/error.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/ops/unary.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"

#include "devices.hpp"
#include "thrown_text.hpp"

namespace tandem {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::thrown_text;

Tensor leaf(std::initializer_list<double> values, Device device = get_default_device()) {
  Tensor x = tensor(values, device);
  x.requires_grad_();
  return x;
}

TEST(EngineTest, GradientsOfAllPathsAddUp) {
  const Tensor x = leaf({2, 3});
  const Tensor y = x * x + x * 5.0;  // dy/dx = 2x + 5
  sum(y).backward();
  EXPECT_THAT(x.grad().to_host<double>(), ElementsAre(9, 11));
}

TEST(EngineTest, GradAccumulatesOverBackwards) {
  const Tensor x = leaf({1});
  sum(x * 2.0).backward();
  sum(x * 3.0).backward();
  EXPECT_THAT(x.grad().to_host<double>(), ElementsAre(5));
  x.set_grad({});
  EXPECT_FALSE(x.grad().defined());
}

TEST(EngineTest, TapeIsReleasedUnlessRetained) {
  const Tensor x = leaf({3});
  const Tensor y = sum(x * x);
  autograd::backward({y}, {}, {.retain_graph = true});
  y.backward();
  EXPECT_THAT(x.grad().to_host<double>(), ElementsAre(12));
  EXPECT_THAT(thrown_text([&] { y.backward(); }), HasSubstr("retain_graph"));
}

TEST(EngineTest, GradAsksOnlyForGradientsThatLeadToItsInputs) {
  const Tensor x = leaf({2}), w = leaf({3});
  std::vector<bool> wanted;
  const auto times = [&](const Tensor& a, const Tensor& b) {
    return autograd::record(
        "times", a.detach() * b.detach(), {a, b}, autograd::Formula([&, a, b](const Tensor& dy) {
          wanted = {autograd::wants(a), autograd::wants(b)};
          return autograd::Gradients{dy * b.detach(), dy * a.detach()};
        }));
  };
  EXPECT_THAT(autograd::grad({sum(times(x * 2.0, w))}, {x})[0].to_host<double>(), ElementsAre(6));
  EXPECT_THAT(wanted, ElementsAre(true, false));
  EXPECT_THAT(autograd::grad({sum(times(x * 2.0, w))}, {w})[0].to_host<double>(), ElementsAre(4));
  EXPECT_THAT(wanted, ElementsAre(false, true));
  const Tensor in = x * 2.0;
  autograd::grad({sum(times(in, w))}, {in});
  EXPECT_THAT(wanted, ElementsAre(true, false));
  sum(times(x * 2.0, w)).backward();
  EXPECT_THAT(wanted, ElementsAre(true, true));
  EXPECT_FALSE(autograd::wants(x.detach()));
}

TEST(EngineTest, CreateGraphGivesHigherDerivatives) {
  const Tensor x = leaf({2});
  const Tensor y = sum(x * x * x);
  const Tensor first = autograd::grad({y}, {x}, {}, {.create_graph = true})[0];
  EXPECT_THAT(first.to_host<double>(), ElementsAre(12));  // 3 x^2
  const Tensor second = autograd::grad({sum(first)}, {x}, {}, {.create_graph = true})[0];
  EXPECT_THAT(second.to_host<double>(), ElementsAre(12));  // 6 x
  const Tensor third = autograd::grad({sum(second)}, {x})[0];
  EXPECT_THAT(third.to_host<double>(), ElementsAre(6));
  EXPECT_FALSE(x.grad().defined());
}

TEST(EngineTest, OutputFormulaIsDifferentiable) {
  const Tensor x = leaf({0.5});
  const Tensor y = exp(x);
  const Tensor first = autograd::grad({sum(y)}, {x}, {}, {.create_graph = true})[0];
  const Tensor second = autograd::grad({sum(first)}, {x})[0];
  EXPECT_THAT(second.item(), DoubleEq(std::exp(0.5)));
}

TEST(EngineTest, GradPrunesAndCapturesInnerTensors) {
  const Tensor x = leaf({2}), z = leaf({4});
  const Tensor inner = x * z;
  const Tensor y = sum(inner * inner);
  const auto grads = autograd::grad({y}, {inner, z});
  EXPECT_THAT(grads[0].to_host<double>(), ElementsAre(16));
  EXPECT_THAT(grads[1].to_host<double>(), ElementsAre(32));
  EXPECT_FALSE(x.grad().defined());
  const Tensor unrelated = leaf({1});
  EXPECT_FALSE(autograd::grad({sum(x * 2.0)}, {unrelated})[0].defined());
}

TEST(EngineTest, NoGradRecordsNothing) {
  const Tensor x = leaf({1});
  {
    const autograd::NoGrad off;
    EXPECT_FALSE((x * 2.0).requires_grad());
    const autograd::EnableGrad on;
    EXPECT_TRUE((x * 2.0).requires_grad());
  }
  EXPECT_FALSE((x.detach() * 2.0).requires_grad());
}

TEST(EngineTest, HooksSeeAndReplaceGradients) {
  const Tensor x = leaf({1, 2});
  const Tensor y = x * 3.0;
  std::vector<double> seen;
  autograd::register_hook(y, [&](const Tensor& dy) {
    seen = dy.to_host<double>();
    return dy * 10.0;
  });
  const int id = autograd::register_hook(x, [](const Tensor& dx) { return dx + 1.0; });
  sum(y).backward();
  EXPECT_THAT(seen, ElementsAre(1, 1));
  EXPECT_THAT(x.grad().to_host<double>(), ElementsAre(31, 31));
  autograd::remove_hook(x, id);
  x.set_grad({});
  sum(x * 3.0).backward();
  EXPECT_THAT(x.grad().to_host<double>(), ElementsAre(3, 3));
}

TEST(EngineTest, BoundGradientsAccumulateInPlace) {
  const Tensor x = leaf({1, 2});
  const Tensor storage = full({2}, 99, {.dtype = DType::f64});
  autograd::bind_gradient(x, storage);
  EXPECT_FALSE(x.grad().defined());
  sum(x * 2.0).backward();
  sum(x * x).backward();
  EXPECT_THAT(storage.to_host<double>(), ElementsAre(4, 6));
  x.set_grad({});
  sum(x * 7.0).backward();
  EXPECT_THAT(storage.to_host<double>(), ElementsAre(7, 7))
      << "a cleared gradient starts from nothing";
}

TEST(EngineTest, ChangedTensorsAreNoticed) {
  const Tensor x = leaf({2});
  Tensor other = tensor({3.0});
  const Tensor y = sum(x * other);
  other.fill_(4);
  EXPECT_THAT(thrown_text([&] { y.backward(); }), HasSubstr("changed in place"));
}

TEST(EngineTest, BadCallsSayWhatIsWrong) {
  const Tensor x = leaf({1, 2});
  EXPECT_THAT(thrown_text([&] { (x * 2.0).backward(); }),
              HasSubstr("is not a scalar; give its gradient"));
  EXPECT_THAT(thrown_text([&] { x.detach().backward(); }), HasSubstr("not on the tape"));
  EXPECT_THAT(thrown_text([&] { (x * 2.0).backward(tensor({1.0})); }), HasSubstr("(1)"));
  EXPECT_THAT(thrown_text([&] { Tensor(x * 2.0).requires_grad_(); }), HasSubstr("leaf"));
  EXPECT_THAT(thrown_text([&] { arange(0, 3).requires_grad_(); }), HasSubstr("only float"));
}

TEST(EngineTest, LongTapesNeitherRecurseNorLeak) {
  const Device device = get_default_device();
  const std::size_t before = logical_device(device).memory_stats().in_use;
  {
    const Tensor x = leaf({1});
    Tensor y = x;
    for (int i = 0; i < 100'000; ++i)
      y = y + 1.0;
    sum(y).backward();
    EXPECT_THAT(x.grad().to_host<double>(), ElementsAre(1));
  }
  EXPECT_EQ(logical_device(device).memory_stats().in_use, before);
}

// Nodes run on the threads of their own devices, whichever thread calls backward.
TEST(EngineTest, EachDeviceRunsItsOwnNodes) {
  const Device a = testing::device(0), b = testing::device(1);
  const Tensor x = leaf({1, 2}, a);
  std::thread::id of_a, of_b;
  const Tensor y = x * 2.0;
  autograd::register_hook(y, [&](const Tensor&) {
    of_a = std::this_thread::get_id();
    return Tensor{};
  });
  const Tensor z = y.to(b) * 3.0;
  autograd::register_hook(z, [&](const Tensor&) {
    of_b = std::this_thread::get_id();
    return Tensor{};
  });
  sum(z.to(a) + x).backward();
  EXPECT_THAT(x.grad().to_host<double>(), ElementsAre(7, 7));
  EXPECT_NE(of_a, of_b);
  EXPECT_NE(of_b, std::this_thread::get_id());
}

TEST(EngineTest, ExpandedGradientsAddUp) {
  const Tensor x = ones({2, 3}).requires_grad_();
  (sum(x) + sum(x) * 2.0).backward();
  EXPECT_THAT(x.grad().to_doubles(), ::testing::Each(3));
}

TEST(EngineTest, FailureOnOneDeviceEndsTheOthers) {
  const Device b = testing::device(1);
  const Tensor x = leaf({1});
  const Tensor z = x.to(b) * 3.0;
  autograd::register_hook(z,
                          [](const Tensor&) -> Tensor { throw std::runtime_error("hook failed"); });
  const Tensor y = sum(z.to(get_default_device()) * x);
  try {
    y.backward();
    FAIL();
  } catch (const std::exception& e) {
    EXPECT_STREQ(e.what(), "hook failed");
  }
}

}  // namespace
}  // namespace tandem
