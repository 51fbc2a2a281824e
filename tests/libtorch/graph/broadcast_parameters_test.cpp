// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Replicas in one graph of PyTorch against the module alone on the host, in f64.

#include "libtorch/graph/broadcast_parameters.hpp"

#include <algorithm>
#include <string>
#include <tuple>

#include <gmock/gmock.h>
#include <torch/csrc/autograd/anomaly_mode.h>

#include "graph_replicas.hpp"
#include "thrown_text.hpp"

namespace tandem::libtorch {
namespace {

using tandem::testing::Branches;
using tandem::testing::GraphReplicas;
using tandem::testing::thrown_text;
using tandem::testing::virtual_device;
using ::testing::AllOf;
using ::testing::HasSubstr;
using torch::autograd::grad;
using Tensors = std::vector<at::Tensor>;

constexpr double kTolerance = 1e-12;

void expect_close(const at::Tensor& got, const at::Tensor& expected, const std::string& what) {
  ASSERT_EQ(got.defined(), expected.defined()) << what;
  if (!got.defined()) return;
  ASSERT_EQ(got.sizes(), expected.sizes()) << what;
  const double scale = std::max(1.0, expected.abs().max().item<double>());
  const at::Tensor difference = (got.to(torch::kCPU) - expected).abs().max();
  EXPECT_LE(difference.item<double>(), kTolerance * scale) << what;
}

void expect_close(const Tensors& got, const Tensors& expected, const std::string& what) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  for (std::size_t k = 0; k < got.size(); ++k) {
    expect_close(got[k], expected[k], what + " " + std::to_string(k));
  }
}

Tensors gradients_of(const Branches& net) {
  Tensors all;
  for (const at::Tensor& p : net.parameters())
    all.push_back(p.grad());
  return all;
}

/// A loss of both outputs that is not symmetrical in the rows.
at::Tensor loss_of(const Tensors& y) {
  const at::Tensor weights = at::arange(1, y[0].size(0) + 1, y[0].options()).unsqueeze(1);
  return (y[0] * weights).sum() + (y[1] * y[1] * weights).sum();
}

/// A module on `home`, its replicas, and the same module alone on the host.
struct Pair {
  Pair(int count, torch::Device home, std::size_t buckets = 2, GraphReplicas::Reduce reduce = {}) {
    register_devices(8);
    torch::manual_seed(5);
    alone->to(torch::kFloat64);
    net = std::dynamic_pointer_cast<Branches>(alone->clone());
    net->to(home);
    replicas = std::make_unique<GraphReplicas>(*net, count, buckets, std::move(reduce));
    x = torch::randn({9, 4}, torch::kFloat64).requires_grad_();
    here = x.detach().to(home).requires_grad_();
  }
  Tensors operator()() { return (*replicas)(here); }
  at::Tensor loss() { return loss_of((*this)()); }
  at::Tensor loss_alone() const { return loss_of(alone->forward(x)); }
  void expect_equal_gradients(const std::string& what) const {
    expect_close(gradients_of(*net), gradients_of(*alone), what);
    expect_close(here.grad(), x.grad(), what + ", of the input");
  }
  /// Sets it for the k-th parameter in both modules.
  void set_requires_grad(std::size_t k, bool wanted) const {
    net->parameters()[k].requires_grad_(wanted);
    alone->parameters()[k].requires_grad_(wanted);
  }
  void set_requires_grad(bool wanted) const {
    for (std::size_t k = 0; k < alone->parameters().size(); ++k)
      set_requires_grad(k, wanted);
  }

  std::shared_ptr<Branches> alone = std::make_shared<Branches>(), net;
  std::unique_ptr<GraphReplicas> replicas;
  at::Tensor x, here;
};

class BroadcastParametersTest : public ::testing::TestWithParam<std::tuple<int, std::string>> {
 protected:
  BroadcastParametersTest() : pair_(std::get<0>(GetParam()), home()) {}
  static torch::Device home() {
    register_devices(8);
    return torch::Device(std::get<1>(GetParam()));
  }
  Pair pair_;
};

TEST_P(BroadcastParametersTest, BackwardGivesTheGradientsOfOneDevice) {
  pair_.loss().backward();
  pair_.loss_alone().backward();
  pair_.expect_equal_gradients("undefined before");
  EXPECT_FALSE(pair_.net->unused.grad().defined());
  pair_.loss().backward();
  pair_.loss_alone().backward();
  pair_.expect_equal_gradients("filled before");
  pair_.net->zero_grad(false);
  pair_.alone->zero_grad(false);
  pair_.loss().backward();
  pair_.loss_alone().backward();
  pair_.expect_equal_gradients("zeroed before");
}

TEST_P(BroadcastParametersTest, AHookSeesTheWholeGradientOnce) {
  int calls = 0;
  const auto doubled = [&](const at::Tensor& g) { return ++calls, g * 2; };
  pair_.net->scale.register_hook(doubled);
  pair_.loss().backward();
  EXPECT_EQ(calls, 1);
  pair_.alone->scale.register_hook(doubled);
  pair_.loss_alone().backward();
  pair_.expect_equal_gradients("hook");
}

TEST_P(BroadcastParametersTest, GradTakesAnyOfTheParametersAndTheInput) {
  const Tensors got = grad({pair_.loss()}, {pair_.net->scale, pair_.here});
  expect_close(got, grad({pair_.loss_alone()}, {pair_.alone->scale, pair_.x}), "grad");
  EXPECT_FALSE(pair_.net->first->weight.grad().defined());
  const auto of_unused = [&](bool allow) {
    return grad({pair_.loss()}, {pair_.net->unused}, {}, {}, false, allow);
  };
  EXPECT_FALSE(of_unused(true)[0].defined());
  EXPECT_THAT(thrown_text<c10::Error>([&] { of_unused(false); }),
              HasSubstr("appears to not have been used"));
}

/// The squares of the gradients of the used parameters and the input.
at::Tensor penalty(const at::Tensor& loss, const Branches& net, const at::Tensor& x) {
  Tensors wanted{x};
  for (const auto& p : net.named_parameters()) {
    if (p.key() != "unused") wanted.push_back(p.value());
  }
  at::Tensor sum;
  for (const at::Tensor& g : grad({loss}, wanted, {}, true, true)) {
    sum = sum.defined() ? sum + g.pow(2).sum() : g.pow(2).sum();
  }
  return sum;
}

TEST_P(BroadcastParametersTest, DoubleBackwardGivesTheGradientsOfOneDevice) {
  (pair_.loss() + penalty(pair_.loss(), *pair_.net, pair_.here)).backward();
  (pair_.loss_alone() + penalty(pair_.loss_alone(), *pair_.alone, pair_.x)).backward();
  pair_.expect_equal_gradients("penalty");
}

TEST_P(BroadcastParametersTest, AGraphIsRetained) {
  const at::Tensor loss = pair_.loss(), expected = pair_.loss_alone();
  for (int i = 0; i < 3; ++i) {
    loss.backward({}, i < 2);
    expected.backward({}, i < 2);
    pair_.expect_equal_gradients("backward " + std::to_string(i));
  }
  EXPECT_THAT(thrown_text<c10::Error>([&] { loss.backward(); }), HasSubstr("a second time"));
}

TEST_P(BroadcastParametersTest, OutputsGoBackwardOneAfterTheOther) {
  const Tensors y = pair_(), expected = pair_.alone->forward(pair_.x);
  for (const std::size_t i : {0, 1}) {
    y[i].pow(2).sum().backward({}, i == 0);
    expected[i].pow(2).sum().backward({}, i == 0);
    pair_.expect_equal_gradients("output " + std::to_string(i));
  }
}

TEST_P(BroadcastParametersTest, CallsGoBackwardInAnyOrder) {
  for (const bool first_at_first : {true, false}) {
    const at::Tensor a = pair_.loss(), b = (*pair_.replicas)(pair_.here * 2)[0].sum();
    const at::Tensor c = pair_.loss_alone(), d = pair_.alone->forward(pair_.x * 2)[0].sum();
    for (const bool first : {first_at_first, !first_at_first}) {
      (first ? a : b).backward();
      (first ? c : d).backward();
      pair_.expect_equal_gradients(first ? "the first call" : "the second call");
    }
  }
  (pair_.loss() + (*pair_.replicas)(pair_.here * 2)[0].sum()).backward();
  (pair_.loss_alone() + pair_.alone->forward(pair_.x * 2)[0].sum()).backward();
  pair_.expect_equal_gradients("both calls at once");
}

TEST_P(BroadcastParametersTest, AnEarlierCallGoesBackwardTwice) {
  const at::Tensor a = pair_.loss(), b = pair_.loss();
  (penalty(a, *pair_.net, pair_.here) + b).backward();
  const at::Tensor c = pair_.loss_alone(), d = pair_.loss_alone();
  (penalty(c, *pair_.alone, pair_.x) + d).backward();
  pair_.expect_equal_gradients("penalty of the first call");
}

TEST_P(BroadcastParametersTest, FrozenParametersGetNoGradient) {
  pair_.set_requires_grad(0, false);
  pair_.loss().backward();
  pair_.loss_alone().backward();
  pair_.expect_equal_gradients("one is frozen");
  EXPECT_FALSE(pair_.replicas->copies[0]->parameters()[0].requires_grad());
  pair_.set_requires_grad(0, true);
  pair_.loss().backward();
  pair_.loss_alone().backward();
  pair_.expect_equal_gradients("it is free again");
  pair_.set_requires_grad(false);
  pair_.here.requires_grad_(false);
  EXPECT_FALSE(pair_.loss().requires_grad());
}

TEST_P(BroadcastParametersTest, ParametersMayBeFrozenBetweenACallAndItsBackward) {
  const at::Tensor a = pair_.loss(), c = pair_.loss_alone();
  pair_.set_requires_grad(false);
  pair_.loss();
  pair_.set_requires_grad(true);
  a.backward();
  c.backward();
  pair_.expect_equal_gradients("freed again");

  const at::Tensor e = pair_.loss(), f = pair_.loss_alone();
  pair_.set_requires_grad(false);
  (e + pair_.loss()).backward();  // accumulates nothing in frozen parameters
  (f + pair_.loss_alone()).backward();
  pair_.expect_equal_gradients("frozen");
  pair_.loss();
  EXPECT_FALSE(pair_.replicas->copies[0]->parameters()[0].requires_grad())
      << "nothing is saved now";
}

TEST_P(BroadcastParametersTest, CallsWithoutGradLeaveEarlierGraphsAsTheyAre) {
  const at::Tensor a = pair_.loss();
  {
    const torch::NoGradGuard guard;
    EXPECT_FALSE(pair_.loss().requires_grad());
  }
  {
    const c10::InferenceMode guard;
    EXPECT_TRUE(pair_.loss().is_inference());
  }
  a.backward();
  pair_.loss_alone().backward();
  pair_.expect_equal_gradients("after calls without grad");
  const torch::NoGradGuard guard;
  expect_close(pair_(), pair_.alone->forward(pair_.x), "outputs");
}

TEST_P(BroadcastParametersTest, AnomalyModeSeesNone) {
  const torch::autograd::DetectAnomalyGuard guard;
  (pair_.loss() + penalty(pair_.loss(), *pair_.net, pair_.here)).backward();
  (pair_.loss_alone() + penalty(pair_.loss_alone(), *pair_.alone, pair_.x)).backward();
  pair_.expect_equal_gradients("anomaly mode");
}

INSTANTIATE_TEST_SUITE_P(Counts,
                         BroadcastParametersTest,
                         ::testing::Combine(::testing::Values(1, 2, 3, 4),
                                            ::testing::Values("cpu", "tandem:0")));

TEST(BroadcastParametersValuesTest, ABackwardAfterAChangeIsPyTorchsError) {
  Pair pair(3, torch::kCPU);
  const at::Tensor early = pair.loss();
  const std::size_t k = 2;  // the weight of `first` is 2, behind scale and unused
  ASSERT_EQ(pair.net->named_parameters()[k].key(), "first.weight");
  {
    const torch::NoGradGuard guard;
    pair.net->first->weight.add_(1);
    pair.alone->first->weight.add_(1);
    for (const auto& copy : pair.replicas->copies) {
      copy->first->weight.set_data(pair.net->first->weight.to(copy->scale.device()));
    }
  }
  for (const auto& copy : pair.replicas->copies)
    copy->first->weight.unsafeGetTensorImpl()->bump_version();
  EXPECT_THAT(thrown_text<c10::Error>([&] { early.backward(); }),
              HasSubstr("modified by an inplace operation"));
  pair.net->zero_grad();
  pair.here.mutable_grad().reset();
  pair.loss().backward();
  pair.loss_alone().backward();
  pair.expect_equal_gradients("new values");
}

TEST(BroadcastParametersValuesTest, DetachedTensorsAreLeavesUntilTheNextCall) {
  Pair pair(2, torch::kCPU);
  pair.set_requires_grad(1, false);
  pair.loss().backward();
  const at::Tensor early = pair.loss();
  pair.replicas->graph->detach();
  const auto copy = pair.replicas->copies[1];
  EXPECT_TRUE(copy->scale.is_leaf());
  EXPECT_TRUE(copy->scale.requires_grad());
  EXPECT_FALSE(copy->unused.requires_grad());
  copy->forward(pair.x.detach().to(virtual_device(1)))[0].sum().backward();
  EXPECT_TRUE(copy->scale.grad().defined());
  EXPECT_THAT(thrown_text<c10::Error>([&] { early.backward(); }), HasSubstr("detached in-place"));
  pair.net->zero_grad();
  pair.here.mutable_grad().reset();
  const at::Tensor of_replica = copy->scale.grad().clone();
  pair.loss().backward();
  pair.loss_alone().backward();
  pair.expect_equal_gradients("attached again");
  pair.replicas->graph->detach();
  EXPECT_TRUE(at::equal(copy->scale.grad(), of_replica)) << "a gradient has gone to a replica";
}

TEST(BroadcastParametersValuesTest, AModuleThatMovesIsFollowed) {
  Pair pair(2, torch::kCPU);
  pair.loss().backward();
  pair.net->to(virtual_device(0));
  pair.net->zero_grad();
  pair.here.mutable_grad().reset();
  pair.loss().backward();
  pair.loss_alone().backward();
  pair.expect_equal_gradients("on tandem:0");
  EXPECT_EQ(pair.net->scale.grad().device(), virtual_device(0));
}

/// Gradients by central differences against those of double backward.
TEST(BroadcastParametersValuesTest, SecondDerivativesAreThoseOfDifferences) {
  Pair pair(3, torch::kCPU);
  at::Tensor& w = pair.net->left->weight;
  const at::Tensor v = torch::randn_like(w);
  const auto gradient = [&](bool create) {
    return grad({pair.loss()}, {w}, {}, create, create)[0];
  };
  const auto moved = [&](double by) {
    const torch::NoGradGuard guard;
    w.add_(v, by);
    for (const auto& copy : pair.replicas->copies)
      copy->left->weight.copy_(w);
  };
  const at::Tensor exact = grad({(gradient(true) * v).sum()}, {w})[0];
  constexpr double kStep = 1e-5;
  moved(kStep);
  const at::Tensor ahead = gradient(false);
  moved(-2 * kStep);
  const at::Tensor behind = gradient(false);
  EXPECT_LE(((ahead - behind) / (2 * kStep) - exact).abs().max().item<double>(), 1e-7);
  EXPECT_GT(exact.abs().max().item<double>(), 1e-2);
}

}  // namespace
}  // namespace tandem::libtorch
