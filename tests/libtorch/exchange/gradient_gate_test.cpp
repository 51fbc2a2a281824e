// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// When gradients enter a replica and leave it: the gate, the order of nodes, the reduction of
// buckets.

#include "tandem/libtorch/detail/gradient_gate.hpp"

#include <mutex>
#include <string>

#include <gmock/gmock.h>

#include "tandem/core/error.hpp"

#include "graph_replicas.hpp"
#include "thrown_text.hpp"

namespace tandem::libtorch {
namespace {

using tandem::testing::Branches;
using tandem::testing::GraphReplicas;
using tandem::testing::Jitter;
using tandem::testing::JitterFunction;
using tandem::testing::Meeting;
using tandem::testing::thrown_text;
using tandem::testing::virtual_device;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using torch::autograd::grad;
using Tensors = std::vector<at::Tensor>;

class GradientGateTest : public ::testing::Test {
 protected:
  GradientGateTest() {
    register_devices(8);
    torch::manual_seed(3);
    net_->to(torch::kFloat64);
    x_ = torch::randn({8, 4}, torch::kFloat64);
  }
  /// For replicas that meet in both branches, and sleep at random before and after.
  void make_meet(int count, unsigned seed) {
    net_->meetings = {std::make_shared<Meeting>(count), std::make_shared<Meeting>(count)};
    net_->jitter = std::make_shared<Jitter>(seed);
  }
  /// A sum whose gradients reach the outputs at random times.
  at::Tensor delayed_sum(const Tensors& y) const {
    const auto jitter = reinterpret_cast<std::int64_t>(net_->jitter.get());
    return JitterFunction::apply(y[0], jitter).pow(2).sum() +
           JitterFunction::apply(y[1], jitter).pow(3).sum();
  }
  /// A sum of squares, whose gradients reach `gradients` at random times, the last one first: the
  /// thread of a device that has no replica sends them.
  at::Tensor delayed_penalty(const Tensors& gradients) const {
    at::Tensor sum = at::zeros({}, torch::kFloat64);
    for (const at::Tensor& g : gradients) {
      sum = sum + net_->delayed(g.to(virtual_device(3))).pow(2).sum().to(torch::kCPU);
    }
    return sum;
  }

  std::shared_ptr<Branches> net_ = std::make_shared<Branches>();
  at::Tensor x_;
};

TEST_F(GradientGateTest, OnlyTensorsThatRequireGradPass) {
  const at::Tensor x = torch::rand({3}, virtual_device(1)).requires_grad_(), y = x * 2;
  const at::Tensor count = torch::ones({2}, torch::kLong), plain = torch::ones({2});
  const Tensors out = leave_replica({y, at::Tensor(), count, plain, y});
  EXPECT_EQ(out[0].data_ptr(), y.data_ptr());
  EXPECT_FALSE(out[1].defined());
  EXPECT_TRUE(out[2].is_same(count));
  EXPECT_TRUE(out[3].is_same(plain));
  EXPECT_EQ(out[0].grad_fn(), out[4].grad_fn());
  EXPECT_EQ(out[0].grad_fn()->name(), "GradientGate");
  (out[0].sum() + out[4].pow(2).sum()).backward();
  EXPECT_TRUE(at::allclose(x.grad(), 2 + 8 * x)) << x.grad();

  const torch::NoGradGuard guard;
  EXPECT_TRUE(leave_replica({y})[0].is_same(y));
}

TEST_F(GradientGateTest, AnUndefinedGradientStaysUndefined) {
  const at::Tensor x = torch::rand({3}).requires_grad_(), z = torch::rand({3}).requires_grad_();
  const Tensors out = leave_replica({x * 2, z * 3});
  out[0].sum().backward();
  EXPECT_TRUE(x.grad().defined());
  EXPECT_FALSE(z.grad().defined());
}

TEST_F(GradientGateTest, AWriteToAnOutputIsSeenByTheReplicasGraph) {
  const at::Tensor x = torch::rand({3}).requires_grad_();
  const at::Tensor out = leave_replica({x.exp()})[0];
  out.mul_(2);
  EXPECT_THAT(thrown_text<c10::Error>([&] { out.sum().backward(); }),
              HasSubstr("modified by an inplace operation"));
}

TEST_F(GradientGateTest, ReplicasMeetInOneOrderInThreeHundredSchedules) {
  Tensors expected;
  for (unsigned schedule = 0; schedule < 300; ++schedule) {
    const int count = 2 + static_cast<int>(schedule % 3);
    make_meet(count, schedule);
    GraphReplicas replicas(*net_, count);
    net_->zero_grad();
    delayed_sum(replicas(x_)).backward();
    if (schedule == 0) {
      make_meet(1, 0);
      delayed_sum(net_->forward(x_)).backward();
      for (const at::Tensor& p : net_->parameters()) {
        expected.push_back(p.grad().defined() ? p.grad() / 2 : at::Tensor());
      }
    }
    for (std::size_t k = 0; schedule > 0 && k < expected.size(); ++k) {
      if (!expected[k].defined()) continue;
      const at::Tensor difference = (net_->parameters()[k].grad() - expected[k]).abs().max();
      EXPECT_LE(difference.item<double>(), 1e-12) << "schedule " << schedule << ", parameter " << k;
    }
  }
}

TEST_F(GradientGateTest, DoubleBackwardOfOneBucketMeetsInOneOrder) {
  for (unsigned schedule = 0; schedule < 100; ++schedule) {
    make_meet(3, schedule);
    GraphReplicas replicas(*net_, 3, 1);
    const Tensors wanted{net_->left->weight, net_->right->weight};  // a way into each branch
    delayed_penalty(grad({delayed_sum(replicas(x_))}, wanted, {}, true, true)).backward();
  }
  EXPECT_TRUE(net_->scale.grad().isfinite().all().item<bool>());
}

/// Two inputs, each of which meets those of the other replica.
TEST_F(GradientGateTest, DoubleBackwardOfInputsMeetsInOneOrder) {
  const at::Tensor u = x_.clone().requires_grad_(), v = (x_ + 1).requires_grad_();
  for (unsigned schedule = 0; schedule < 100; ++schedule) {
    make_meet(2, schedule);
    Tensors parts(2);
    const auto forward = [&](int d) {
      const torch::Device device = virtual_device(d);
      Tensors in{u.narrow(0, 4 * d, 4).to(device), v.narrow(0, 4 * d, 4).to(device)};
      for (at::Tensor& x : in)
        x = net_->delayed(x);
      in = enter_replica(std::move(in));
      Branches copy = *net_;
      copy.rank = d;
      const at::Tensor y = copy.met(in[0], 0).tanh() * copy.met(in[1], 1).tanh();
      parts[static_cast<std::size_t>(d)] = leave_replica({y})[0].to(torch::kCPU);
    };
    std::thread second(forward, 1);
    forward(0);
    second.join();
    delayed_penalty(grad({at::cat(parts).pow(2).sum()}, {u, v}, {}, true, true)).backward();
  }
  EXPECT_TRUE(u.grad().isfinite().all().item<bool>());
}

TEST_F(GradientGateTest, RunsGiveTheSameBits) {
  Tensors first;
  for (unsigned run = 0; run < 20; ++run) {
    make_meet(4, run);
    GraphReplicas replicas(*net_, 4);
    net_->zero_grad();
    delayed_sum(replicas(x_)).backward();
    for (std::size_t k = 0; k < net_->parameters().size(); ++k) {
      const at::Tensor gradient = net_->parameters()[k].grad();
      if (run == 0) first.push_back(gradient.defined() ? gradient.clone() : gradient);
      if (!gradient.defined()) continue;
      EXPECT_TRUE(at::equal(gradient, first[k])) << "run " << run << ", parameter " << k;
    }
  }
}

TEST_F(GradientGateTest, ABucketIsReducedWhileEarlierLayersGoOn) {
  std::mutex mutex;
  std::vector<std::string> log;
  const auto note = [&](const std::string& what) {
    const std::scoped_lock lock(mutex);
    log.push_back(what);
  };
  net_->on_first_gradient = [&] { note("first layer"); };
  GraphReplicas replicas(
      *net_, 1, 2, [&](std::size_t bucket, BroadcastParameters::Gradients gradients) {
        note("bucket " + std::to_string(bucket));
        for (at::Tensor& g : gradients[0])
          g = g.defined() ? g.to(torch::kCPU) : g;
        return gradients[0];
      });
  replicas(x_)[1].sum().backward();
  EXPECT_THAT(log, ElementsAre("bucket 0", "first layer", "bucket 1"));
}

TEST_F(GradientGateTest, AReductionIsCalledOnceABucketUnlessAGraphIsMade) {
  std::mutex mutex;
  std::vector<std::size_t> calls;
  GraphReplicas replicas(
      *net_, 2, 2, [&](std::size_t bucket, BroadcastParameters::Gradients gradients) {
        const std::scoped_lock lock(mutex);
        calls.push_back(bucket);
        Tensors sums(gradients[0].size());
        for (std::size_t i = 0; i < sums.size(); ++i) {
          EXPECT_EQ(gradients[0][i].defined(), gradients[1][i].defined());
          sums[i] = gradients[0][i].defined() ? at::full_like(gradients[0][i], 7, torch::kCPU)
                                              : at::ones({1});  // to be dropped
        }
        return sums;
      });
  replicas(x_)[0].sum().backward();
  std::sort(calls.begin(), calls.end());
  EXPECT_THAT(calls, ElementsAre(0, 1));
  EXPECT_TRUE((net_->scale.grad() == 7).all().item<bool>());
  EXPECT_FALSE(net_->unused.grad().defined());
  grad({replicas(x_)[0].sum()}, {net_->scale}, {}, true, true);
  EXPECT_EQ(calls.size(), 2u) << "a reduction has no gradient of its own";
}

TEST_F(GradientGateTest, AReductionGetsTheGradientsThatAreAskedFor) {
  int defined = 0;
  GraphReplicas replicas(*net_, 2, 1, [&](std::size_t, BroadcastParameters::Gradients gradients) {
    Tensors sums(gradients[0].size());
    for (std::size_t i = 0; i < sums.size(); ++i) {
      if (!gradients[0][i].defined()) continue;
      ++defined;
      EXPECT_EQ(gradients[1][i].device(), virtual_device(1));
      sums[i] = gradients[0][i].to(torch::kCPU) + gradients[1][i].to(torch::kCPU);
    }
    return sums;
  });
  const Tensors y = replicas(x_);
  const at::Tensor got = grad({y[0].sum() + y[1].sum()}, {net_->scale})[0];
  EXPECT_EQ(defined, 1);
  const Tensors expected = net_->forward(x_);
  EXPECT_TRUE(at::allclose(got, grad({expected[0].sum() + expected[1].sum()}, {net_->scale})[0]));
}

TEST_F(GradientGateTest, AHookOnAnUnusedParameterGetsAnUndefinedGradient) {
  GraphReplicas replicas(*net_, 2, 1);
  std::vector<bool> defined;
  net_->unused.register_hook([&](const at::Tensor& g) { defined.push_back(g.defined()); });
  replicas(x_)[0].sum().backward();
  EXPECT_THAT(defined, ElementsAre(false));
  EXPECT_FALSE(net_->unused.grad().defined());
}

TEST_F(GradientGateTest, AReductionsErrorIsThatOfBackward) {
  GraphReplicas failing(
      *net_, 2, 2, [](std::size_t, const BroadcastParameters::Gradients&) -> Tensors {
        throw std::logic_error("no memory for the sum");
      });
  EXPECT_THAT(thrown_text<std::logic_error>([&] { failing(x_)[0].sum().backward(); }),
              HasSubstr("no memory for the sum"));
  GraphReplicas short_of_one(
      *net_, 2, 1, [](std::size_t, const BroadcastParameters::Gradients&) { return Tensors(1); });
  EXPECT_THAT(thrown_text<InternalError>([&] { short_of_one(x_)[0].sum().backward(); }),
              HasSubstr("has returned 1 sums; it has 8 parameters"));
}

TEST_F(GradientGateTest, TensorsThatDoNotBelongTogetherAreRefused) {
  const at::Tensor a = torch::rand({2}), b = torch::rand({3}), c = torch::rand({2});
  const auto text = [](Tensors parameters,
                       std::vector<Tensors> replicas,
                       std::vector<std::vector<std::size_t>> buckets) {
    return thrown_text([&] { BroadcastParameters{parameters, replicas, buckets}; });
  };
  EXPECT_THAT(text({a, a}, {{c, b}}, {{0, 1}}), HasSubstr("parameter 1 is there twice"));
  EXPECT_THAT(text({a}, {{a}}, {{0}}), HasSubstr("a replica's tensor 0 is there twice"));
  EXPECT_THAT(text({a}, {{b}}, {{0}}), AllOf(HasSubstr("[2]"), HasSubstr("[3]")));
  EXPECT_THAT(text({a}, {{c, b}}, {{0}}), HasSubstr("has 2 tensors, and the module 1"));
  EXPECT_THAT(text({a}, {}, {{0}}), HasSubstr("no replicas"));
  EXPECT_THAT(text({a}, {{c}}, {{0, 0}}), HasSubstr("2 indices of 1 parameters"));
}

}  // namespace
}  // namespace tandem::libtorch
