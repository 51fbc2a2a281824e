// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/nn/replicate.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/ops/unary.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/optim/sgd.hpp"
#include "tandem/parallel/replica_error.hpp"

#include "devices.hpp"
#include "parallel/near.hpp"
#include "parallel/nets.hpp"
#include "thrown_text.hpp"

// What happens to a module between a forward and its backward: other forwards, updates of other
// parameters, new optimizers. A plain module on one device, without any wrapper, is the oracle.
namespace tandem::parallel::test {
namespace {

using tandem::testing::thrown_text;
using ::testing::HasSubstr;

/// A generator and a critic in one module, as a program that wraps both at once has them.
struct Gan : nn::Module {
  nn::Linear generator{4, 6, {.dtype = DType::f64}}, critic{6, 1, {.dtype = DType::f64}};
  Tensor forward(const Tensor& x, bool generates) {
    return generates ? tanh(generator(x)) : critic(x);
  }
  TANDEM_MODULE(Gan, generator, critic)
};

/// PyTorch's own order: the critic is updated between the generator's forward and backward.
template <class Call>
void train_gan(Gan& net, Call&& call) {
  optim::SGD critic(net.critic.named_parameters(), {.lr = 0.1, .momentum = 0.9});
  optim::Adam generator(net.generator.named_parameters(), {.lr = 0.01});
  manual_seed(3);
  for (int step = 0; step < 3; ++step) {
    const Tensor noise = randn({7, 4}, f64()), real = randn({7, 6}, f64());
    const Tensor fake = call(noise, true);
    critic.zero_grad();
    (mean(square(call(real, false) - 1.0)) + mean(square(call(fake.detach(), false)))).backward();
    critic.step();
    generator.zero_grad();
    mean(square(call(fake, false) - 1.0)).backward();
    generator.step();
  }
}

class InterleavedTest : public ::testing::TestWithParam<Mode> {};

TEST_P(InterleavedTest, AnUpdateOfOtherParametersIsNoChangeOfThese) {
  for (const int n : {1, 3}) {
    manual_seed(1);
    Gan net;
    auto plain = nn::clone(net);
    train_gan(plain, [&](const Tensor& x, bool generates) { return plain(x, generates); });
    {
      DataParallel dp(net, {.devices = devices(n), .mode = GetParam()});
      train_gan(net, [&](const Tensor& x, bool generates) { return dp(x, generates); });
    }
    EXPECT_LT(difference(values_of(net), values_of(plain)), 1e-12) << n << " devices";
  }
}

TEST_P(InterleavedTest, AnUpdateOfTheSameParametersIsRefused) {
  Mlp net;
  DataParallel dp(net, {.devices = devices(3), .mode = GetParam()});
  optim::SGD optimizer(net.parameters(), {.lr = 0.1});
  const Tensor early = dp(small_batch().x);
  dp.step(small_batch(), kLoss, &optimizer);
  EXPECT_THAT(thrown_text<ReplicaError>([&] { early.sum().backward(); }),
              HasSubstr("was changed in place after the forward"));
}

TEST_P(InterleavedTest, TwoForwardsBeforeABackward) {
  NormMlp net;
  net.eval();
  auto plain = nn::clone(net);
  const Tensor a = small_batch(1).x, b = small_batch(2).x;
  const auto loss = [&](auto& call) { return (call(a) * call(b)).sum() + call(a).sum(); };
  loss(plain).backward();
  DataParallel dp(net, {.devices = devices(3), .mode = GetParam()});
  loss(dp).backward();
  EXPECT_LT(difference(gradients_of(net), gradients_of(plain)), 1e-12);
}

/// A buffer that is constant beside one that every forward in training changes.
struct Scaled : nn::Module {
  nn::BatchNorm1d norm{4, {.dtype = DType::f64}};
  nn::Linear head{4, 2, {.dtype = DType::f64}};
  nn::BufferTensor scale{full({4}, 1.5, f64())};
  Tensor forward(const Tensor& x) { return head(tanh(norm(x) * scale)); }
  TANDEM_MODULE(Scaled, norm, head, scale)
};

TEST_P(InterleavedTest, AConstantBufferBesideBatchNormIsNoChange) {
  Scaled net;
  auto plain = nn::clone(net);
  manual_seed(4);
  const Tensor a = randn({7, 4}, f64()).requires_grad_(), b = randn({7, 4}, f64());
  const auto loss = [&](auto& call) { return call(a).sum() + square(call(b)).sum(); };
  loss(plain).backward();
  DataParallel dp(net, {.devices = devices(3), .mode = GetParam()});
  loss(dp).backward();
  EXPECT_LT(difference(gradients_of(net), gradients_of(plain)), 1e-11);
  EXPECT_LT(difference(values_of(net), values_of(plain)), 1e-12);
}

INSTANTIATE_TEST_SUITE_P(Modes, InterleavedTest, ::testing::ValuesIn(kModes));

TEST(InterleavedOnOneTest, AnOptimizerMadeBeforeBackwardIsNoChange) {
  Mlp net;
  auto other = nn::clone(net);
  const Tensor x = small_batch().x;
  const auto loss = [&](Mlp& m) { return square(m(x)).sum(); };
  const Tensor early = loss(net);
  optim::SGD optimizer(net.parameters(), {.lr = 0.1});
  early.backward();
  optimizer.step();

  loss(other).backward();
  optim::SGD(other.parameters(), {.lr = 0.1}).step();
  EXPECT_EQ(difference(values_of(net), values_of(other)), 0);

  const Tensor late = loss(net);
  optimizer.step();
  optim::Adam another(net.parameters(), {});
  EXPECT_THAT(thrown_text([&] { late.backward(); }),
              HasSubstr("was changed in place after the forward"));
}

TEST(InterleavedOnOneTest, AWrapperMadeBeforeBackwardIsNoChange) {
  Mlp net;
  auto other = nn::clone(net);
  const Tensor x = small_batch().x;
  const Tensor early = square(net(x)).sum();
  const DataParallel dp(net, {.devices = devices(2)});
  early.backward();
  square(other(x)).sum().backward();
  EXPECT_EQ(difference(gradients_of(net), gradients_of(other)), 0);
}

}  // namespace
}  // namespace tandem::parallel::test
