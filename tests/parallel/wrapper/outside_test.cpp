// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <utility>

#include <gmock/gmock.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/nn/replicate.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/ops/unary.hpp"
#include "tandem/optim/grad_scaler.hpp"
#include "tandem/optim/sgd.hpp"

#include "devices.hpp"
#include "parallel/near.hpp"
#include "parallel/nets.hpp"

// Trained tensors that are no parameters of the wrapped module and that its replicas use: a learned
// temperature, a head outside, a feature made before the call. The same program without a wrapper,
// on one device, is the oracle.
namespace tandem::parallel::test {
namespace {

/// A module whose forward takes a scale that it does not list.
struct OutsideScale : nn::Module {
  explicit OutsideScale(Tensor s) : scale(std::move(s)) {}
  nn::Linear inner{12, 5, {.dtype = DType::f64}};
  Tensor scale;
  Tensor forward(const Tensor& x) { return inner(x.flatten(1)) * scale.to(x.device()); }
  TANDEM_MODULE(OutsideScale, inner)
};

Tensor trained(double value) {
  return scalar(value, {.dtype = DType::f64, .device = devices(1)[0]}).requires_grad_();
}

class OutsideTest : public ::testing::TestWithParam<Mode> {};

TEST_P(OutsideTest, GetsItsGradientFromACall) {
  for (const int n : {1, 2, 3}) {
    const Tensor s = trained(1.5), alone = trained(1.5);
    manual_seed(1);
    OutsideScale net(s);
    OutsideScale plain = nn::clone(net);
    plain.scale = alone;
    const Batch batch = small_batch();
    cross_entropy(plain(batch.x), batch.labels).backward();
    DataParallel dp(net, {.devices = devices(n), .mode = GetParam()});
    cross_entropy(dp(batch.x), batch.labels).backward();
    EXPECT_NEAR(s.grad().item(), alone.grad().item(), 1e-12) << n << " devices";
    EXPECT_LT(difference(gradients_of(net), gradients_of(plain)), 1e-12) << n << " devices";
  }
}

/// A loss with a learned weight, which is a leaf (0), or made of one on the caller's tape (1).
double gradient_in_a_step(int made, const DataParallelOptions& options, bool updates) {
  manual_seed(1);
  Mlp net;
  const Tensor leaf = trained(0.5);
  const Tensor s = made == 0 ? leaf : exp(leaf);
  const Batch batch = small_batch();
  const auto loss = [s](Mlp& m, const Batch& b) {
    WeightedSum sum = cross_entropy_sum(m(b.x), b.labels);
    sum.sum = sum.sum * square(s.to(b.x.device()));
    return sum;
  };
  optim::SGD optimizer(net.named_parameters(), {.lr = 0.1});
  DataParallel dp(net, options);
  dp.step(batch, loss, updates ? &optimizer : nullptr);
  return leaf.grad().item();
}

double gradient_alone(int made) {
  manual_seed(1);
  Mlp net;
  const Tensor leaf = trained(0.5);
  const Tensor s = made == 0 ? leaf : exp(leaf);
  const Batch batch = small_batch();
  (cross_entropy(net(batch.x), batch.labels) * square(s)).backward();
  return leaf.grad().item();
}

TEST_P(OutsideTest, GetsItsGradientFromAStep) {
  for (const int made : {0, 1}) {
    const double right = gradient_alone(made);
    for (const int n : {1, 3}) {
      for (const std::int64_t parts : {1, 3}) {
        const DataParallelOptions options{
            .devices = devices(n), .mode = GetParam(), .accumulate = parts};
        EXPECT_NEAR(gradient_in_a_step(made, options, false), right, 1e-12) << n << parts;
        EXPECT_NEAR(gradient_in_a_step(made, options, true), right, 1e-12) << n << parts;
      }
    }
  }
}

TEST_P(OutsideTest, IsUpdatedByTheStepsOptimizer) {
  std::vector<double> after;
  for (const int n : {1, 3}) {
    manual_seed(1);
    Mlp net;
    const Tensor s = trained(0.5);
    std::vector<Tensor> all = net.parameters();
    all.push_back(s);
    optim::SGD optimizer(all, {.lr = 0.1});
    DataParallel dp(net, {.devices = devices(n), .mode = GetParam()});
    for (int step = 0; step < 3; ++step) {
      dp.step(
          small_batch(),
          [s](Mlp& m, const Batch& b) {
            WeightedSum sum = cross_entropy_sum(m(b.x), b.labels);
            sum.sum = sum.sum * square(s.to(b.x.device()));
            return sum;
          },
          &optimizer);
    }
    EXPECT_NE(s.item(), 0.5);
    after.push_back(s.item());
  }
  EXPECT_NEAR(after[1], after[0], 1e-12);
}

TEST_P(OutsideTest, OfALossScaledIsScaledBack) {
  manual_seed(1);
  Mlp net;
  const Tensor s = trained(0.5);
  optim::SGD optimizer(net.named_parameters(), {.lr = 0.1});
  optim::GradScaler scaler({.init_scale = 1024});
  DataParallel dp(net, {.devices = devices(2), .mode = GetParam()});
  dp.step(small_batch(),
          [s](Mlp& m, const Batch& b) {
            WeightedSum sum = cross_entropy_sum(m(b.x), b.labels);
            sum.sum = sum.sum * square(s.to(b.x.device()));
            return sum;
          },
          &optimizer,
          {.scaler = &scaler});
  EXPECT_NEAR(s.grad().item(), gradient_alone(0), 1e-12);
}

/// Its forward goes over another device of the wrapper and back.
struct Detour : nn::Module {
  nn::Linear first{12, 8, {.dtype = DType::f64}}, second{8, 5, {.dtype = DType::f64}};
  Tensor forward(const Tensor& x) {
    const Tensor h = tanh(first(x.flatten(1)).to(devices(1)[0]));
    return second(h.to(x.device()));
  }
  TANDEM_MODULE(Detour, first, second)
};

TEST_P(OutsideTest, AForwardMayGoOverAnotherDevice) {
  manual_seed(1);
  Detour net;
  Detour plain = nn::clone(net);
  const Batch batch = small_batch();
  cross_entropy(plain(batch.x), batch.labels).backward();
  DataParallel dp(net, {.devices = devices(3), .mode = GetParam()});
  cross_entropy(dp(batch.x), batch.labels).backward();
  EXPECT_LT(difference(gradients_of(net), gradients_of(plain)), 1e-12);
  for (const Tensor& p : net.parameters())
    p.set_grad({});
  dp.step(batch, kLoss);
  EXPECT_LT(difference(gradients_of(net), gradients_of(plain)), 1e-12);
}

TEST_P(OutsideTest, HasSecondDerivativesToo) {
  std::vector<double> gradients;
  for (const int n : {1, 3}) {
    const Tensor s = trained(1.5);
    manual_seed(1);
    OutsideScale net(s);
    DataParallel dp(net, {.devices = devices(n), .mode = GetParam()});
    const Tensor y = mean(square(dp(small_batch().x)));
    const Tensor dy = autograd::grad({y}, {s}, {}, {.create_graph = true})[0];
    square(dy).backward();
    gradients.push_back(s.grad().item());
  }
  EXPECT_NEAR(gradients[1], gradients[0], 1e-12);
  EXPECT_NE(gradients[0], 0);
}

INSTANTIATE_TEST_SUITE_P(Modes, OutsideTest, ::testing::ValuesIn(kModes), [](const auto& p) {
  return name(p.param);
});

}  // namespace
}  // namespace tandem::parallel::test
