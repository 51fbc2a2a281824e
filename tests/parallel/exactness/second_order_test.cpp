// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// autograd::grad, and gradients of gradients, through dp(x): those of one device.

#include <gmock/gmock.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/nn/replicate.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/loss.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/ops/unary.hpp"

#include "parallel/nets.hpp"

namespace tandem::parallel::test {
namespace {

constexpr autograd::BackwardOptions kTaped{.create_graph = true};

Tensor input_of(const Batch& batch) {
  Tensor x = batch.x.detach();
  x.requires_grad_();
  return x;
}

std::vector<Tensor> leaves_of(nn::Module& net, const Tensor& x) {
  std::vector<Tensor> leaves = net.parameters();
  leaves.push_back(x);
  return leaves;
}

Values numbers_of(const std::vector<Tensor>& tensors) {
  Values values;
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].defined()) values[std::to_string(i)] = tensors[i].to_doubles();
  return values;
}

class SecondOrderTest : public ::testing::TestWithParam<Mode> {
 protected:
  const Batch batch = make_batch(9, 1, DType::f64, false);

  DataParallelOptions options() const {
    return {.devices = devices(4), .mode = GetParam(), .chunk_sizes = {2, 0, 4, 3}};
  }
  /// Holds what `derive(forward, net, x)` gives for the wrapper against the bare net's.
  template <class Net, class Derive>
  void check(Derive derive, double tolerance = 1e-11) const {
    manual_seed(2);
    Net net;
    Net alone = nn::clone(net);
    DataParallel dp(net, options());
    const Values wanted = derive([&](const Tensor& x) { return alone(x); }, alone, input_of(batch));
    const Values found = derive([&](const Tensor& x) { return dp(x); }, net, input_of(batch));
    EXPECT_LE(difference(found, wanted), tolerance);
  }
};

INSTANTIATE_TEST_SUITE_P(All, SecondOrderTest, ::testing::ValuesIn(kModes), [](const auto& test) {
  return std::string(name(test.param));
});

TEST_P(SecondOrderTest, GradGivesWhatBackwardAddsAndAddsNothing) {
  const auto derive = [](auto forward, nn::Module& net, const Tensor& x) {
    const Tensor loss = sum(square(forward(x)));
    const std::vector<Tensor> gradients = autograd::grad({loss}, leaves_of(net, x));
    EXPECT_FALSE(x.grad().defined());
    for (const Tensor& p : net.parameters())
      EXPECT_FALSE(p.grad().defined());
    return numbers_of(gradients);
  };
  check<Mlp>(derive, 1e-12);
  check<Cnn>(derive, 1e-12);
}

TEST_P(SecondOrderTest, AGradientPenaltyBesideALoss) {
  const auto derive = [this](auto forward, nn::Module& net, const Tensor& x) {
    const Tensor y = forward(x);
    const Tensor slope = autograd::grad({sum(y)}, {x}, {}, kTaped)[0];
    (cross_entropy(y, batch.labels) + sum(square(slope))).backward();
    Values values = gradients_of(net);
    values["x"] = x.grad().to_doubles();
    return values;
  };
  check<Mlp>(derive);
  check<NormMlp>(derive, 1e-9);  // batch norm over the replicas, twice
}

TEST_P(SecondOrderTest, HessianTimesAVector) {
  check<Mlp>([](auto forward, nn::Module& net, const Tensor& x) {
    const std::vector<Tensor> leaves = leaves_of(net, x);
    const auto gradients = autograd::grad({sum(square(forward(x)))}, leaves, {}, kTaped);
    Tensor product;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const Tensor part = sum(gradients[i] * (0.5 + static_cast<double>(i)));
      product = product.defined() ? product + part : part;
    }
    return numbers_of(autograd::grad({product}, leaves));
  });
}

TEST_P(SecondOrderTest, AThirdDerivative) {
  check<Mlp>([](auto forward, nn::Module& net, const Tensor& x) {
    const Tensor first = autograd::grad({sum(forward(x))}, {x}, {}, kTaped)[0];
    const Tensor second = autograd::grad({sum(square(first))}, {x}, {}, kTaped)[0];
    return numbers_of(autograd::grad({sum(square(second))}, leaves_of(net, x)));
  });
}

TEST_P(SecondOrderTest, BackwardMayLeaveGradientsOnTheTape) {
  check<Mlp>([](auto forward, nn::Module& net, const Tensor& x) {
    autograd::backward({sum(square(forward(x)))}, {}, kTaped);
    const Tensor of_x = x.grad();
    const std::vector<Tensor> leaves = leaves_of(net, x);
    const Values values = numbers_of(autograd::grad({sum(square(of_x))}, leaves));
    for (const Tensor& leaf : leaves)  // a gradient on the tape holds its leaf, which holds it
      leaf.set_grad({});
    return values;
  });
}

TEST_P(SecondOrderTest, OutputsThatStayDistributed) {
  Mlp net;
  Mlp alone = nn::clone(net);
  DataParallel dp(net, options());
  const Tensor x = input_of(batch), same = input_of(batch);
  const Tensor y = sum(square(dp.distributed(x).gather()));
  const Tensor slope = autograd::grad({y}, {x}, {}, kTaped)[0];
  const Tensor wanted = autograd::grad({sum(square(alone(same)))}, {same}, {}, kTaped)[0];
  EXPECT_LE(difference(numbers_of({slope}), numbers_of({wanted})), 1e-12);
  EXPECT_LE(difference(numbers_of(autograd::grad({sum(square(slope))}, {x})),
                       numbers_of(autograd::grad({sum(square(wanted))}, {same}))),
            1e-11);
}

}  // namespace
}  // namespace tandem::parallel::test
