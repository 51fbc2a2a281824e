// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// What each optimizer does beyond PyTorch's values (oracle_test.cpp): large tensors, going on from
// a state, options.
#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/nn/module.hpp"
#include "tandem/optim/adadelta.hpp"
#include "tandem/optim/adagrad.hpp"
#include "tandem/optim/lamb.hpp"
#include "tandem/optim/nadam.hpp"
#include "tandem/optim/radam.hpp"
#include "tandem/optim/rmsprop.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"

#include "devices.hpp"
#include "thrown_text.hpp"

namespace tandem::optim {
namespace {

using tandem::testing::thrown_text;
using ::testing::HasSubstr;

using Parameters = std::vector<NamedParameter>;

Parameters two_parameters() {
  manual_seed(11);
  return {{"a", randn({7, 3}, {.dtype = DType::f64}).requires_grad_()},
          {"b", randn({5}, {.dtype = DType::f64}).requires_grad_()}};
}

struct Kind {
  const char* name;
  std::function<std::unique_ptr<Optimizer>(const Parameters&)> make;
};

class OptimizersTest : public ::testing::TestWithParam<Kind> {};

void step(Optimizer& optimizer, const Parameters& params, int number) {
  manual_seed(static_cast<std::uint64_t>(100 + number));
  for (const NamedParameter& p : params)
    p.tensor.set_grad(randn(p.tensor.shape(), {.dtype = DType::f64}));
  optimizer.step();
}

struct OneParameter : nn::Module {
  nn::Parameter b = nn::Parameter(zeros({5}));
  TANDEM_MODULE(OneParameter, b)
};

// Before anything changes: a step that fails half-way would leave the optimizer without a state.
TEST_P(OptimizersTest, ParametersOf16BitsAreRefusedByName) {
  const auto refused = [](const auto& f) {
    EXPECT_THAT(thrown_text<InvalidArgument>(f),
                ::testing::AllOf(HasSubstr("'b' is bf16 (5)"),
                                 HasSubstr("updates f32 and f64"),
                                 HasSubstr("to(DType::f32)")));
  };
  Parameters params = two_parameters();
  params[1].tensor = params[1].tensor.detach().to(DType::bf16).requires_grad_();
  refused([&] { GetParam().make(params); });

  OneParameter net;
  const auto optimizer = GetParam().make(Parameters{{"b", net.b}});
  net.to(DType::bf16);
  net.b.set_grad(ones({5}, {.dtype = DType::bf16}));
  refused([&] { optimizer->step(); });
  net.to(DType::f32);
  net.b.set_grad(ones({5}));
  optimizer->step();
  EXPECT_NE(net.b.to_doubles(), std::vector<double>(5, 0.0));
}

TEST_P(OptimizersTest, GoesOnExactlyFromAState) {
  const Parameters whole = two_parameters(), resumed = two_parameters();
  const auto one = GetParam().make(whole);
  for (int i = 0; i < 3; ++i)
    step(*one, whole, i);
  const auto other = GetParam().make(resumed);
  other->load_state_dict(one->state_dict());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const Tensor target = resumed[i].tensor.detach();
    Tensor(target).copy_(whole[i].tensor.detach());
  }
  for (int i = 3; i < 6; ++i) {
    step(*one, whole, i);
    step(*other, resumed, i);
  }
  for (std::size_t i = 0; i < whole.size(); ++i)
    EXPECT_EQ(whole[i].tensor.to_doubles(), resumed[i].tensor.to_doubles());
}

INSTANTIATE_TEST_SUITE_P(
    Kinds,
    OptimizersTest,
    ::testing::Values(Kind{"rmsprop",
                           [](const Parameters& p) {
                             return std::make_unique<RMSprop>(
                                 p, RMSpropOptions{.momentum = 0.9, .centered = true});
                           }},
                      Kind{"adagrad",
                           [](const Parameters& p) {
                             return std::make_unique<Adagrad>(p, AdagradOptions{.lr_decay = 0.1});
                           }},
                      Kind{"adadelta",
                           [](const Parameters& p) { return std::make_unique<Adadelta>(p); }},
                      Kind{"nadam",
                           [](const Parameters& p) {
                             return std::make_unique<NAdam>(
                                 p, NAdamOptions{.weight_decay = 0.1, .momentum_decay = 0.5});
                           }},
                      // The last of its steps is the first that divides.
                      Kind{"radam",
                           [](const Parameters& p) {
                             return std::make_unique<RAdam>(p, RAdamOptions{.weight_decay = 0.1});
                           }},
                      Kind{"lamb", [](const Parameters& p) { return std::make_unique<LAMB>(p); }}),
    [](const auto& kind) { return std::string(kind.param.name); });

// Several threads and runs of the norms; the oracle is one step in a loop.
TEST(Lamb, ALargeTensorMovesByItsOwnLength) {
  constexpr std::int64_t n = 100'003;
  manual_seed(2);
  const Tensor p = randn({n}).requires_grad_(), g = randn({n});
  const std::vector<double> before = p.to_doubles(), grad = g.to_doubles();
  LAMB optimizer(std::vector<Tensor>{p}, {.lr = 0.5, .weight_decay = 0.1});
  p.set_grad(g);
  optimizer.step();

  double param = 0, direction = 0;
  std::vector<double> u;
  for (std::size_t i = 0; i < before.size(); ++i) {
    u.push_back(grad[i] / (std::abs(grad[i]) + 1e-6) + 0.1 * before[i]);
    param += before[i] * before[i];
    direction += u[i] * u[i];
  }
  const std::vector<double> after = p.to_doubles();
  for (std::size_t i = 0; i < before.size(); ++i)
    ASSERT_NEAR(after[i], before[i] - 0.5 * std::sqrt(param / direction) * u[i], 2e-5) << i;
}

TEST(Lamb, AParameterOfZerosMovesByTheDirection) {
  const Tensor p = zeros({4}, {.dtype = DType::f64}).requires_grad_();
  LAMB optimizer(std::vector<Tensor>{p}, {.lr = 0.25});
  p.set_grad(ones({4}, {.dtype = DType::f64}));
  optimizer.step();
  EXPECT_NEAR(p.to_doubles()[0], -0.25, 1e-6);
}

TEST(OptimizerOptions, OutOfRangeAreNamed) {
  const std::vector<Tensor> p{zeros({1}).requires_grad_()};
  EXPECT_THAT(thrown_text([&] { RMSprop(p, {.alpha = -1}); }), HasSubstr("RMSprop: alpha is -1"));
  EXPECT_THAT(thrown_text([&] { Adagrad(p, {.lr_decay = -1}); }),
              HasSubstr("Adagrad: lr_decay is -1; it may not be negative"));
  EXPECT_THAT(thrown_text([&] { Adadelta(p, {.rho = 2}); }),
              HasSubstr("Adadelta: rho is 2; it must be in [0, 1]"));
  EXPECT_THAT(thrown_text([&] { NAdam(p, {.momentum_decay = -1}); }),
              HasSubstr("NAdam: momentum_decay is -1; it may not be negative"));
  EXPECT_THAT(thrown_text([&] { RAdam(p, {.eps = -1}); }), HasSubstr("RAdam: eps is -1"));
  EXPECT_THAT(thrown_text([&] {
                LAMB(p, {.betas = {0.9, 1}});
              }),
              HasSubstr("LAMB: beta2 is 1; it must be in [0, 1)"));
}

}  // namespace
}  // namespace tandem::optim
