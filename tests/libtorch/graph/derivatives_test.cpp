// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Backward through dp(x) in all its forms, against one device and against differences.

#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/libtorch/devices.hpp"

#include "libtorch/models.hpp"
#include "libtorch/test_devices.hpp"

namespace tandem::libtorch::test {
namespace {

constexpr std::int64_t kDerivedRows = 5;

/// A smooth function of two inputs, with two outputs.
struct SmoothImpl : torch::nn::Module {
  std::pair<at::Tensor, at::Tensor> forward(const at::Tensor& x, const at::Tensor& z) {
    const at::Tensor h = torch::tanh(first(x)) * torch::sigmoid(z);
    return {second(h), (h * scale).sum(1, true).exp()};
  }
  torch::nn::Linear first = register_module("first", torch::nn::Linear(3, 4));
  torch::nn::Linear second = register_module("second", torch::nn::Linear(4, 2));
  at::Tensor scale = register_parameter("scale", torch::ones({4}) * 0.3);
};
TORCH_MODULE(Smooth);

class DerivativesTest : public ::testing::TestWithParam<int> {
 protected:
  DerivativesTest() {
    register_test_devices();
    torch::manual_seed(4);
    one_->to(torch::kDouble);
    many_->to(torch::kDouble);
    const torch::NoGradGuard off;
    for (std::size_t i = 0; i < one_->parameters().size(); ++i)
      many_->parameters()[i].copy_(one_->parameters()[i]);
  }

  using Outputs = std::pair<at::Tensor, at::Tensor>;
  Outputs alone() { return one_->forward(x_, z_); }
  Outputs gathered() { return dp_(x_, z_); }
  static at::Tensor first_loss(const Outputs& y) { return y.first.square().mean(); }
  static at::Tensor second_loss(const Outputs& y) { return y.second.sin().mean(); }

  /// The gradients of the inputs, which are both modules', are collected and cleared.
  std::vector<at::Tensor> take_input_gradients() {
    std::vector<at::Tensor> all{x_.grad().clone(), z_.grad().clone()};
    x_.mutable_grad().reset();
    z_.mutable_grad().reset();
    return all;
  }
  /// Runs `f` with either way to make outputs, and compares all gradients.
  void expect_equal(const std::string& what,
                    const std::function<void(const std::function<Outputs()>&)>& f) {
    SCOPED_TRACE(what);
    f([this] { return alone(); });
    const auto expected = take_input_gradients();
    f([this] { return gathered(); });
    const auto found = take_input_gradients();
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_LE((expected[i] - found[i]).abs().max().item<double>(), 1e-12);
    EXPECT_LE(gradient_difference(*one_, *many_), 1e-12);
  }

  Smooth one_, many_;
  at::Tensor x_ = torch::randn({kDerivedRows, 3}, torch::kDouble).requires_grad_();
  at::Tensor z_ = torch::randn({kDerivedRows, 4}, torch::kDouble).requires_grad_();
  DataParallel<SmoothImpl> dp_{many_, {.devices = test_devices(GetParam())}};
};

INSTANTIATE_TEST_SUITE_P(Devices, DerivativesTest, ::testing::Values(1, 2, 3));

TEST_P(DerivativesTest, SecondOnesAreThoseOfDifferences) {
  std::vector<at::Tensor> variables = many_->parameters();
  variables.push_back(x_);
  variables.push_back(z_);
  std::vector<at::Tensor> directions;
  for (const at::Tensor& v : variables)
    directions.push_back(torch::randn_like(v.detach()));
  /// A projection of all first derivatives.
  const auto slope = [&](bool create_graph) {
    const Outputs y = gathered();
    const at::Tensor loss = first_loss(y) * second_loss(y).exp();
    const auto first = torch::autograd::grad({loss}, variables, {}, create_graph, create_graph);
    at::Tensor sum = torch::zeros({}, torch::kDouble);
    for (std::size_t i = 0; i < first.size(); ++i)
      sum = sum + (first[i] * directions[i]).sum();
    return sum;
  };
  const auto exact = torch::autograd::grad({slope(true)}, variables);
  constexpr double kStep = 1e-5;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    EXPECT_GT(exact[i].abs().max().item<double>(), 1e-3) << i;
    at::Tensor flat = variables[i].detach().view({-1});
    for (std::int64_t k = 0; k < flat.numel(); ++k) {
      const auto slope_at = [&](double by) {
        flat[k] += by;
        const double value = slope(false).item<double>();
        flat[k] -= by;
        return value;
      };
      const double difference = (slope_at(kStep) - slope_at(-kStep)) / (2 * kStep);
      EXPECT_NEAR(exact[i].view({-1})[k].item<double>(), difference, 1e-8) << i << ' ' << k;
    }
  }
}

TEST_P(DerivativesTest, OutputsGoBackwardOneAfterTheOther) {
  expect_equal("the first, then the second", [](const auto& forward) {
    const Outputs y = forward();
    first_loss(y).backward({}, /*retain_graph=*/true);
    second_loss(y).backward();
  });
  expect_equal("the second, then the first", [](const auto& forward) {
    const Outputs y = forward();
    second_loss(y).backward({}, true);
    first_loss(y).backward();
  });
  expect_equal("of two calls, the earlier one last", [](const auto& forward) {
    const Outputs y = forward(), z = forward();
    second_loss(z).backward();
    first_loss(y).backward();
  });
}

TEST_P(DerivativesTest, AGraphIsRetainedOrPyTorchSaysThatItIsNot) {
  expect_equal("three times", [](const auto& forward) {
    const at::Tensor loss = first_loss(forward()) + second_loss(forward());
    loss.backward({}, true);
    loss.backward({}, true);
    loss.backward();
  });
  const at::Tensor loss = first_loss(gathered());
  loss.backward();
  EXPECT_THROW(loss.backward(), c10::Error);
}

TEST_P(DerivativesTest, APenaltyOnGradientsOfParametersAndInputs) {
  expect_equal("of the inputs", [this](const auto& forward) {
    const Outputs y = forward();
    const auto slopes = torch::autograd::grad({second_loss(y)}, {x_, z_}, {}, true, true);
    (first_loss(y) + (slopes[0].norm() - 1).square() + slopes[1].square().sum()).backward();
  });
  for (const bool is_alone : {true, false}) {
    auto& net = is_alone ? one_ : many_;
    const Outputs y = is_alone ? alone() : gathered();
    at::Tensor penalty = first_loss(y);
    for (const at::Tensor& g :
         torch::autograd::grad({second_loss(y) + first_loss(y)}, net->parameters(), {}, true, true))
      penalty = penalty + g.square().sum();
    penalty.backward();
  }
  EXPECT_LE(gradient_difference(*one_, *many_), 1e-12) << "of the parameters";
}

TEST_P(DerivativesTest, GradGivesAnyAndChangesNone) {
  const Outputs y = gathered(), expected = alone();
  const auto own = many_->parameters(), others = one_->parameters();
  for (const std::vector<std::size_t>& picked :
       std::vector<std::vector<std::size_t>>{{0}, {3, 1}, {4}, {0, 1, 2, 3, 4}}) {
    std::vector<at::Tensor> variables{x_}, of_one{x_};
    for (const std::size_t k : picked) {
      variables.push_back(own[k]);
      of_one.push_back(others[k]);
    }
    const auto found = torch::autograd::grad(
        {first_loss(y) + second_loss(y)}, variables, {}, /*retain_graph=*/true);
    const auto wanted = torch::autograd::grad(
        {first_loss(expected) + second_loss(expected)}, of_one, {}, /*retain_graph=*/true);
    for (std::size_t i = 0; i < found.size(); ++i)
      EXPECT_LE((found[i].cpu() - wanted[i]).abs().max().item<double>(), 1e-12) << i;
  }
  for (const at::Tensor& p : own)
    EXPECT_FALSE(p.grad().defined());
  // The second layer is not there for the second output.
  const auto unused = torch::autograd::grad(
      {second_loss(y)}, {many_->second->weight, x_}, {}, true, false, /*allow_unused=*/true);
  EXPECT_FALSE(unused[0].defined());
  EXPECT_TRUE(unused[1].defined());
}

TEST_P(DerivativesTest, GradientsThatAreUndefinedZeroedOrReplacedInAnyOrder) {
  using Change = std::function<void(at::Tensor&)>;
  const std::vector<Change> changes{
      [](at::Tensor& p) { p.mutable_grad().reset(); },
      [](at::Tensor& p) { p.mutable_grad().zero_(); },
      [](at::Tensor& p) { p.mutable_grad() = torch::full_like(p.detach(), 2); },
      [](at::Tensor& p) { p.mutable_grad() = p.grad() * 3; },
      [](at::Tensor&) {},
  };
  const Batch step_batch{x_.detach(), z_.detach()};
  const auto in_replica = [](SmoothImpl& net, const Batch& batch) {
    return net.forward(batch.x, batch.y).first.square().mean();
  };
  std::mt19937 generator(3);
  expect_equal("to begin with", [](const auto& forward) {
    const Outputs y = forward();
    (first_loss(y) + second_loss(y)).backward();
  });
  for (int round = 0; round < 20; ++round) {
    for (std::size_t k = 0; k < 5; ++k) {
      const Change& change = changes[generator() % changes.size()];
      for (auto* net : {&one_, &many_}) {
        at::Tensor p = (*net)->parameters()[k];
        if (p.grad().defined() || &change == &changes[2]) change(p);
      }
    }
    if (generator() % 2 == 0) {  // a step in between
      first_loss(alone()).backward();
      dp_.step(step_batch, in_replica);
      take_input_gradients();
      EXPECT_LE(gradient_difference(*one_, *many_), 1e-12) << round;
    } else {
      expect_equal(std::to_string(round), [](const auto& forward) {
        const Outputs y = forward();
        (first_loss(y) - second_loss(y)).backward();
      });
    }
  }
}

}  // namespace
}  // namespace tandem::libtorch::test
