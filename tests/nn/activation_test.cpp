// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/nn/activation.hpp"

#include <cmath>

#include <gmock/gmock.h>

#include "tandem/tensor/factories.hpp"

namespace tandem::nn {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;

/// What a module makes of -2 and 1.
template <class M>
std::vector<double> outputs(M module) {
  return module(tensor<double>({-2, 1})).to_doubles();
}

TEST(ActivationModuleTest, HavePyTorchsDefaults) {
  EXPECT_THAT(outputs(LeakyReLU()), ElementsAre(-0.02, 1));
  EXPECT_THAT(outputs(ELU()), ElementsAre(DoubleNear(std::exp(-2) - 1, 1e-15), 1));
  EXPECT_THAT(outputs(Softplus()),
              Pointwise(DoubleNear(1e-15), {std::log1p(std::exp(-2)), std::log1p(std::exp(1))}));
  EXPECT_THAT(outputs(LogSigmoid()),
              Pointwise(DoubleNear(1e-15), {-std::log1p(std::exp(2)), -std::log1p(std::exp(-1))}));
}

TEST(ActivationModuleTest, TakeTheirOptions) {
  EXPECT_THAT(outputs(LeakyReLU(0.5)), ElementsAre(-1, 1));
  EXPECT_THAT(outputs(ELU(3)), ElementsAre(DoubleNear(3 * (std::exp(-2) - 1), 1e-15), 1));
  EXPECT_THAT(outputs(Softplus(2, 1)),
              ElementsAre(DoubleNear(std::log1p(std::exp(-4)) / 2, 1e-15), 1))
      << "2 * 1 is above the threshold";
}

TEST(ActivationModuleTest, SoftmaxGoesAlongItsDimension) {
  const Tensor x = tensor<double>({0, std::log(3), 0, 0}).reshape({2, 2});
  EXPECT_THAT(Softmax(1)(x).to_doubles(), Pointwise(DoubleNear(1e-15), {0.25, 0.75, 0.5, 0.5}));
  EXPECT_THAT(
      LogSoftmax(0)(x).to_doubles(),
      Pointwise(DoubleNear(1e-15), {std::log(0.5), std::log(0.75), std::log(0.5), std::log(0.25)}));
}

}  // namespace
}  // namespace tandem::nn
