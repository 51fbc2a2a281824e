// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// PyTorch's modes of the calling thread reach the replicas, and their backward: grad, inference,
// autocast, anomaly.

#include <array>
#include <string>
#include <utility>

#include <ATen/autocast_mode.h>
#include <gmock/gmock.h>
#include <torch/csrc/autograd/anomaly_mode.h>

#include "tandem/libtorch/devices.hpp"
#include "tandem/libtorch/optimizer.hpp"
#include "tandem/parallel/replica_error.hpp"

#include "libtorch/models.hpp"
#include "libtorch/test_devices.hpp"
#include "thrown_text.hpp"

namespace tandem::libtorch::test {
namespace {

using tandem::testing::thrown_text;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::int64_t kModeRows = 10;

/// Notes what the thread of each replica's forward and backward sees.
struct WitnessImpl : torch::nn::Module {
  struct Seen {
    bool grad = false, inference = false, anomaly = false, autocast = false;
    at::ScalarType dtype = at::kFloat;
    bool operator==(const Seen&) const = default;
  };
  static Seen seen_here(c10::DeviceType type) {
    return {c10::GradMode::is_enabled(),
            c10::InferenceMode::is_enabled(),
            torch::autograd::AnomalyMode::is_enabled(),
            at::autocast::is_autocast_enabled(type),
            at::autocast::is_autocast_enabled(type) ? at::autocast::get_autocast_dtype(type)
                                                    : at::kFloat};
  }
  at::Tensor forward(const at::Tensor& x) {
    forwards->at(static_cast<std::size_t>(x.device().index())) = seen_here(torch_type());
    return linear(x);
  }
  torch::nn::Linear linear = register_module("linear", torch::nn::Linear(6, 3));
  std::shared_ptr<std::array<Seen, 2>> forwards = std::make_shared<std::array<Seen, 2>>();
};
TORCH_MODULE(Witness);
using Seen = WitnessImpl::Seen;

/// Autocast for a type of device until the end of the scope.
class Autocast {
 public:
  Autocast(c10::DeviceType type, at::ScalarType dtype)
      : type_(type), dtype_(at::autocast::get_autocast_dtype(type)) {
    at::autocast::set_autocast_dtype(type, dtype);
    at::autocast::set_autocast_enabled(type, true);
  }
  ~Autocast() {
    at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(type_, false);
    at::autocast::set_autocast_dtype(type_, dtype_);
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  c10::DeviceType type_;
  at::ScalarType dtype_;
};

class CallerStateTest : public ::testing::Test {
 protected:
  CallerStateTest() {
    register_test_devices();
    torch::manual_seed(0);
  }
  /// What the replicas of dp(x) see, which must be the same on both devices.
  Seen seen_by_call() {
    return seen_by([this] { dp_(torch::ones({kModeRows, 6})); });
  }
  /// The same of a step, with or without a graph.
  Seen seen_by_step() {
    return seen_by([this] {
      try {
        dp_.step(torch::ones({kModeRows, 6}), [](WitnessImpl& replica, const at::Tensor& x) {
          return replica.forward(x).to(at::kFloat).square().mean();
        });
      } catch (const parallel::ReplicaError& e) {  // without grad
        EXPECT_THAT(e.what(), HasSubstr("the loss has no graph"));
      }
    });
  }

 private:
  template <class F>
  Seen seen_by(const F& f) {
    for (int d = 0; d < 2; ++d)
      dp_.replica(d).forwards = forwards_;
    *forwards_ = {};
    f();
    EXPECT_TRUE(forwards_->at(0) == forwards_->at(1));
    return forwards_->at(1);
  }

  Witness net_;
  DataParallel<WitnessImpl> dp_{net_, {.devices = test_devices(2)}};
  std::shared_ptr<std::array<Seen, 2>> forwards_ = std::make_shared<std::array<Seen, 2>>();
};

TEST_F(CallerStateTest, ReachesTheForwardOfEachReplica) {
  const auto expect = [this](const Seen& seen) {
    EXPECT_TRUE(seen_by_call() == seen);
    EXPECT_TRUE(seen_by_step() == seen);
  };
  expect({.grad = true});
  {
    const torch::NoGradGuard mode;
    expect({.grad = false});
  }
  {
    const c10::InferenceMode mode;
    expect({.grad = false, .inference = true});
  }
  {
    const torch::autograd::DetectAnomalyGuard mode;
    expect({.grad = true, .anomaly = true});
  }
  {
    const Autocast mode(torch_type(), at::kBFloat16);
    expect({.grad = true, .autocast = true, .dtype = at::kBFloat16});
  }
  {
    const Autocast mode(at::kCPU, at::kHalf);  // of the place where the module is
    expect({.grad = true, .autocast = true, .dtype = at::kHalf});
    EXPECT_FALSE(at::autocast::is_autocast_enabled(torch_type())) << "of the program's thread";
  }
  expect({.grad = true});
}

TEST_F(CallerStateTest, AutocastOfTheHostIsNotThatOfAModuleOnADevice) {
  Witness net;
  net->to(torch_device(test_device(0)));
  DataParallel dp(net, {.devices = test_devices(2)});
  const Autocast mode(at::kCPU, at::kBFloat16);
  EXPECT_EQ(dp(torch::ones({kModeRows, 6})).scalar_type(), at::kFloat);
}

TEST_F(CallerStateTest, InferenceModeMayBeLeft) {
  auto [one, many] = twins<Mlp>();
  const Batch batch = MlpImpl::batch(kModeRows);
  std::unique_ptr<DataParallel<MlpImpl>> dp;
  {
    const c10::InferenceMode mode;  // the copies are made here
    dp = std::make_unique<DataParallel<MlpImpl>>(
        many, parallel::DataParallelOptions{.devices = test_devices(2)});
    const at::Tensor y = (*dp)(batch.x);
    EXPECT_TRUE(y.is_inference());
    EXPECT_LE((y - one->forward(batch.x)).abs().max().item<double>(), 1e-12);
  }
  squared_error(*one, batch).backward();
  torch::mse_loss((*dp)(batch.x), batch.y).backward();
  EXPECT_LE(gradient_difference(*one, *many), 1e-12);
  {
    const c10::InferenceMode mode;
    (*dp)(batch.x);
  }
  squared_error(*one, batch).backward();
  dp->step(batch, squared_error);
  EXPECT_LE(gradient_difference(*one, *many), 1e-12);
}

TEST_F(CallerStateTest, AutocastTrainsAsOneDeviceDoes) {
  Mlp one, many;
  {
    const torch::NoGradGuard off;
    const auto from = one->parameters(), to = many->parameters();
    for (std::size_t i = 0; i < from.size(); ++i)
      to[i].copy_(from[i]);
  }
  const auto first_device = torch_device(test_device(0));
  one->to(first_device);
  many->to(first_device);
  DataParallel dp(many, {.devices = test_devices(3)});
  torch::optim::SGD first(one->parameters(), 0.1);
  Optimizer<torch::optim::SGD> second(many->parameters(), 0.1);
  const auto loss = [](MlpImpl& net, const Batch& batch) {
    const at::Tensor y = net.forward(batch.x);
    EXPECT_EQ(y.scalar_type(), at::kBFloat16);
    return torch::mse_loss(y.to(at::kFloat), batch.y);
  };
  const auto moved = [&](const at::Tensor& x) { return x.to(first_device); };
  for (int step = 0; step < 6; ++step) {
    const Batch batch{moved(torch::randn({kModeRows, 6})), moved(torch::randn({kModeRows, 3}))};
    first.zero_grad();
    at::Tensor value;
    {
      const Autocast mode(torch_type(), at::kBFloat16);
      value = loss(*one, batch);
    }
    value.backward();
    first.step();
    if (step % 2 == 0) {
      const Autocast mode(torch_type(), at::kBFloat16);
      EXPECT_NEAR(dp.step(batch, loss, second).loss, value.item<double>(), 1e-2);
    } else {
      second.zero_grad();
      at::Tensor y;
      {
        const Autocast mode(torch_type(), at::kBFloat16);
        y = dp(batch.x);
        EXPECT_EQ(y.scalar_type(), at::kBFloat16);
      }
      torch::mse_loss(y.to(at::kFloat), batch.y).backward();
      second.step();
    }
    EXPECT_LE(difference(*one, *many), 2e-3) << step;  // bf16 keeps eight bits of a gradient
  }
  EXPECT_EQ(many->first->weight.grad().defined(), true);
  EXPECT_EQ(many->first->weight.scalar_type(), at::kFloat);
}

TEST_F(CallerStateTest, TheBackwardOfAStepIsWithoutAutocast) {
  torch::nn::Linear net(6, 3);
  const at::Tensor x = torch::randn({kModeRows, 6});  // rounded by 16 bits
  net->forward(x).square().sum().backward();
  const at::Tensor expected = net->weight.grad().clone();
  const auto loss_in_32_bits = [](torch::nn::LinearImpl& replica, const at::Tensor& part) {
    at::autocast::set_autocast_enabled(torch_type(), false);
    const at::Tensor sum = replica.forward(part).square().sum();
    at::autocast::set_autocast_enabled(torch_type(), true);
    return WeightedSum{sum, 1};
  };
  for (const int devices : {1, 2}) {  // one device works on the calling thread
    net->zero_grad();
    DataParallel dp(net, {.devices = test_devices(devices)});
    const Autocast mode(torch_type(), at::kBFloat16);
    dp.step(x, loss_in_32_bits);
    const double weight = devices;  // of all sums
    EXPECT_LE((net->weight.grad().cpu() * weight - expected).abs().max().item<double>(), 1e-4)
        << devices;
  }
}

TEST_F(CallerStateTest, StepsUnderOneAutocastUseTheNewWeights) {
  torch::nn::Linear net(4, 1);
  DataParallel dp(net, {.devices = test_devices(2)});
  Optimizer<torch::optim::SGD> optimizer(net->parameters(), 0.5);
  const at::Tensor x = torch::ones({6, 4});
  const auto loss = [](torch::nn::LinearImpl& replica, const at::Tensor& part) {
    return replica.forward(part).to(at::kFloat).square().mean();
  };
  const Autocast mode(torch_type(), at::kBFloat16);
  torch::nn::init::ones_(net->weight);
  torch::nn::init::zeros_(net->bias);
  // y = 4, and dy/dw = 1: each weight goes from 1 to 1 - 0.5 * 2 * 4 = -3, the bias from 0 to -4.
  EXPECT_EQ(dp.step(x, loss, optimizer).loss, 16);
  EXPECT_EQ(dp.step(x, loss, optimizer).loss, 16 * 16);
}

/// The square root of what may be 0: its gradient there is infinite, and 0 times that is NaN.
struct RootImpl : torch::nn::Module {
  at::Tensor forward(const at::Tensor& x) { return torch::sqrt(x * weight); }
  at::Tensor weight = register_parameter("weight", torch::ones({1}));
};
TORCH_MODULE(Root);

TEST_F(CallerStateTest, AnomalyModeFindsTheOpOfAReplica) {
  Root net;
  DataParallel dp(net, {.devices = test_devices(2)});
  at::Tensor x = torch::ones({4, 1});
  x[3] = 0;
  const auto sum = [](RootImpl& replica, const at::Tensor& part) {
    return replica.forward(part).sum();
  };
  EXPECT_NO_THROW(dp.step(x, sum));
  const torch::autograd::DetectAnomalyGuard mode;
  EXPECT_THAT(thrown_text<parallel::ReplicaError>([&] { dp.step(x, sum); }),
              AllOf(HasSubstr(to_string(test_device(1))),
                    HasSubstr("MulBackward0"),
                    HasSubstr("nan values")));
  const at::Tensor y = dp(x);
  EXPECT_THAT(thrown_text<c10::Error>([&] { y.sum().backward(); }),
              AllOf(HasSubstr("MulBackward0"), HasSubstr("nan values")));
  EXPECT_NO_THROW(dp(torch::ones({4, 1})).sum().backward());
  EXPECT_NO_THROW(dp.step(torch::ones({4, 1}), sum));
}

}  // namespace
}  // namespace tandem::libtorch::test
