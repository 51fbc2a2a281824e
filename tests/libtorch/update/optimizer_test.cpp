// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Optimizers of PyTorch whose update the devices share, against PyTorch's own.

#include "tandem/libtorch/optimizer.hpp"

#include <sstream>

#include <gmock/gmock.h>

#include "tandem/libtorch/devices.hpp"

#include "libtorch/models.hpp"
#include "libtorch/modes.hpp"
#include "libtorch/test_devices.hpp"

namespace tandem::libtorch::test {
namespace {

using parallel::Mode;

constexpr std::int64_t kUpdateRows = 9;

/// Trains two equal modules, one by T and one by Optimizer<T>: with a schedule, clipping, and the
/// states exchanged through files in the middle.
template <class T, class Options>
void expect_same_training(const Options& options, Mode mode) {
  torch::manual_seed(1);
  auto [one, many] = twins<Mlp>();
  T plain(one->parameters(), options);
  Optimizer<T> shared(many->parameters(), options);
  DataParallel dp(many, {.devices = test_devices(3), .mode = mode});
  const auto train = [&, &one = one, &many = many](int steps, T& of_one, Optimizer<T>& of_many) {
    torch::optim::StepLR first(of_one, 2, 0.5), second(of_many, 2, 0.5);
    for (int step = 0; step < steps; ++step) {
      const Batch batch = MlpImpl::batch(kUpdateRows);
      of_one.zero_grad();
      squared_error(*one, batch).backward();
      of_one.step();
      dp.step(batch, squared_error, of_many);
      first.step();
      second.step();
      EXPECT_LE(difference(*one, *many), 1e-12);
    }
  };
  train(4, plain, shared);
  // New ones go on where those of the other kind have been.
  std::stringstream of_plain, of_shared;
  torch::save(plain, of_plain);
  torch::save(shared, of_shared);
  T from_shared(one->parameters(), options);
  Optimizer<T> from_plain(many->parameters(), options);
  torch::load(from_shared, of_shared, torch::kCPU);
  torch::load(from_plain, of_plain, many->parameters().front().device());
  train(3, from_shared, from_plain);
  // Gradients first, then the update.
  const Batch batch = MlpImpl::batch(kUpdateRows);
  from_shared.zero_grad();
  squared_error(*one, batch).backward();
  from_plain.zero_grad();
  dp.step(batch, squared_error);
  torch::nn::utils::clip_grad_norm_(one->parameters(), 0.1);
  torch::nn::utils::clip_grad_norm_(many->parameters(), 0.1);
  from_shared.step();
  from_plain.step();
  EXPECT_LE(difference(*one, *many), 1e-12);
  EXPECT_LE(gradient_difference(*one, *many), 1e-12);  // an update leaves them there
}

class OptimizerTest : public ::testing::TestWithParam<Mode> {};

TEST_P(OptimizerTest, TrainsAsPyTorchsDoes) {
  using namespace torch::optim;
  const Mode mode = GetParam();
  expect_same_training<SGD>(SGDOptions(0.1), mode);
  expect_same_training<SGD>(SGDOptions(0.1).momentum(0.9).dampening(0.2).weight_decay(0.1), mode);
  expect_same_training<SGD>(SGDOptions(0.1).momentum(0.9).nesterov(true), mode);
  expect_same_training<Adam>(AdamOptions(0.01).weight_decay(0.1).eps(1e-3), mode);
  expect_same_training<AdamW>(AdamWOptions(0.01).eps(1e-3), mode);
  expect_same_training<RMSprop>(RMSpropOptions(0.01).eps(1e-3), mode);
  expect_same_training<RMSprop>(RMSpropOptions(0.01).eps(1e-3).momentum(0.5).centered(true), mode);
  expect_same_training<Adagrad>(AdagradOptions(0.1).lr_decay(0.1).initial_accumulator_value(0.1),
                                mode);
}

INSTANTIATE_TEST_SUITE_P(All, OptimizerTest, ::testing::ValuesIn(kModes), [](const auto& test) {
  return parallel::name(test.param);
});

TEST_P(OptimizerTest, OneWithAClosureTrainsThroughTheWrapper) {
  torch::manual_seed(1);
  auto [one, many] = twins<Mlp>();
  const auto options = torch::optim::LBFGSOptions(0.1).max_iter(3);
  torch::optim::LBFGS of_one(one->parameters(), options), of_many(many->parameters(), options);
  DataParallel dp(many, {.devices = test_devices(3), .mode = GetParam()});
  for (int step = 0; step < 3; ++step) {
    const Batch batch = MlpImpl::batch(kUpdateRows);
    const auto closure = [&batch](auto& optimizer, auto forward) {
      return [&batch, &optimizer, forward] {
        optimizer.zero_grad();
        const at::Tensor loss = torch::mse_loss(forward(batch.x), batch.y);
        loss.backward();
        return loss;
      };
    };
    of_one.step(closure(of_one, [&net = *one](const at::Tensor& x) { return net.forward(x); }));
    of_many.step(closure(of_many, [&dp](const at::Tensor& x) { return dp(x); }));
    EXPECT_LE(difference(*one, *many), 1e-10) << step;  // it divides by differences
  }
}

TEST(OptimizerTest, OutlivesItsWrapper) {
  torch::manual_seed(1);
  auto [one, many] = twins<Mlp>();
  torch::optim::Adam plain(one->parameters(), torch::optim::AdamOptions(0.01).eps(1e-3));
  Optimizer<torch::optim::Adam> shared(many->parameters(),
                                       torch::optim::AdamOptions(0.01).eps(1e-3));
  for (int step = 0; step < 6; ++step) {
    const Batch batch = MlpImpl::batch(kUpdateRows);
    plain.zero_grad();
    squared_error(*one, batch).backward();
    plain.step();
    if (step % 2 == 0) {
      DataParallel dp(many, {.devices = test_devices(2)});
      dp.step(batch, squared_error, shared);
    } else {
      shared.zero_grad();
      torch::mse_loss(forward_alone(many, batch.x), batch.y).backward();
      shared.step();
    }
    EXPECT_LE(difference(*one, *many), 1e-12) << step;
  }
}

}  // namespace
}  // namespace tandem::libtorch::test
