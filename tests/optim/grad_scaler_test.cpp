// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/optim/grad_scaler.hpp"

#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/optim/sgd.hpp"
#include "tandem/tensor/factories.hpp"

#include "thrown_text.hpp"

namespace tandem::optim {
namespace {

using tandem::testing::thrown_text;

Tensor parameter() {
  return ones({2}).requires_grad_();
}

TEST(GradScalerTest, AStepIsThatWithoutAScale) {
  Tensor x = parameter();
  SGD sgd(std::vector<Tensor>{x}, {.lr = 0.5});
  GradScaler scaler({.init_scale = 1024});
  scaler.scale(sum(x * x)).backward();
  EXPECT_EQ(x.grad().to_doubles(), (std::vector<double>{2048, 2048}));
  EXPECT_TRUE(scaler.step(sgd));
  EXPECT_EQ(x.to_doubles(), (std::vector<double>{0, 0}));  // 1 - 0.5 * 2
}

TEST(GradScalerTest, GradientsTooSmallForF16Arrive) {
  Tensor x = parameter();
  const auto loss = [&] {
    const Tensor y = x.to(DType::f16) * 0x1p-15;  // its gradient, times 2^-15, is 2^-30
    return sum(y.to(DType::f32) * 0x1p-15);
  };
  loss().backward();
  EXPECT_EQ(x.grad().to_doubles(), (std::vector<double>{0, 0})) << "else there is nothing to scale";
  x.set_grad({});
  SGD sgd(std::vector<Tensor>{x}, {.lr = 1});
  GradScaler scaler({.init_scale = 0x1p16});
  scaler.scale(loss()).backward();
  scaler.unscale_(sgd);
  EXPECT_EQ(x.grad().to_doubles(), (std::vector<double>{0x1p-30, 0x1p-30}));
}

TEST(GradScalerTest, AStepThatOverflowsIsSkippedAndHalvesTheScale) {
  Tensor x = parameter();
  SGD sgd(std::vector<Tensor>{x}, {.lr = 0.5});
  GradScaler scaler({.init_scale = 8, .growth_interval = 2});
  x.set_grad(tensor({1.0F, std::numeric_limits<float>::infinity()}));
  EXPECT_FALSE(scaler.step(sgd));
  scaler.update();
  EXPECT_EQ(x.to_doubles(), (std::vector<double>{1, 1}));
  EXPECT_EQ(scaler.get_scale(), 4);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(scaler.get_scale(), 4) << i;
    x.set_grad(ones({2}));
    EXPECT_TRUE(scaler.step(sgd));
    scaler.update();
  }
  EXPECT_EQ(scaler.get_scale(), 8) << "after two good steps";
}

TEST(GradScalerTest, StateGoesOnInAnotherScaler) {
  GradScaler a, b({.init_scale = 2});
  Tensor x = parameter();
  SGD sgd(std::vector<Tensor>{x}, {.lr = 0.5});
  x.set_grad(ones({2}));
  EXPECT_TRUE(a.step(sgd));
  a.update();
  b.load_state(a.state());
  EXPECT_EQ(b.state(), a.state());
  EXPECT_EQ(b.state().growth_tracker, 1);
}

TEST(GradScalerTest, CallsOutOfOrderAreRefused) {
  Tensor x = parameter();
  x.set_grad(ones({2}));
  SGD sgd(std::vector<Tensor>{x}, {.lr = 0.5});
  GradScaler scaler;
  EXPECT_NE(thrown_text([&] { scaler.update(); }).find("before step()"), std::string::npos);
  scaler.unscale_(sgd);
  EXPECT_NE(thrown_text([&] { scaler.unscale_(sgd); }).find("already"), std::string::npos);
  EXPECT_NE(thrown_text([] { GradScaler wrong({.growth_factor = 1}); }).find("growth_factor is 1"),
            std::string::npos);
}

}  // namespace
}  // namespace tandem::optim
