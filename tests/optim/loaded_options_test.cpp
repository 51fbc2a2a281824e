// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Numbers of a saved state are checked as those of a constructor are.

#include <cmath>
#include <functional>
#include <memory>

#include <gmock/gmock.h>

#include "tandem/nn/linear.hpp"
#include "tandem/optim/adadelta.hpp"
#include "tandem/optim/adagrad.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/optim/lamb.hpp"
#include "tandem/optim/lr_scheduler.hpp"
#include "tandem/optim/moving_average.hpp"
#include "tandem/optim/nadam.hpp"
#include "tandem/optim/radam.hpp"
#include "tandem/optim/rmsprop.hpp"
#include "tandem/optim/sgd.hpp"
#include "tandem/tensor/factories.hpp"

#include "thrown_text.hpp"

namespace tandem::optim {
namespace {

using tandem::testing::thrown_text;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

struct WrongOption {
  const char* option;
  double value;
};

void refuses(Optimizer& optimizer, std::initializer_list<WrongOption> wrong) {
  const Options before = optimizer.param_groups()[0].options();
  for (const auto& [option, value] : wrong) {
    OptimizerState state = optimizer.state_dict();
    state.numbers.at(std::string("param_groups.0.") + option) = value;
    EXPECT_THAT(thrown_text([&] { optimizer.load_state_dict(state); }),
                HasSubstr(std::string(option)))
        << value;
    EXPECT_EQ(optimizer.param_groups()[0].options(), before);
  }
}

TEST(LoadedOptions, AreCheckedAsTheConstructorDoes) {
  const std::vector<Tensor> p{zeros({2}).requires_grad_()};
  const double nan = std::nan("");
  AdamW adam(p);
  refuses(
      adam,
      {{"lr", -1}, {"lr", nan}, {"lr", HUGE_VAL}, {"beta1", 2}, {"beta2", -1}, {"eps", -1e308}});
  SGD sgd(p, {.momentum = 0.5});
  refuses(sgd,
          {{"lr", -1},
           {"momentum", -1},
           {"weight_decay", -1},
           {"nesterov", 1e308},
           {"nesterov", 0.5},
           {"dampening", nan}});
  RMSprop rmsprop(p);
  refuses(rmsprop, {{"alpha", -1}, {"centered", 2}});
  Adagrad adagrad(p);
  refuses(adagrad, {{"lr_decay", -1}, {"initial_accumulator_value", HUGE_VAL}});
  Adadelta adadelta(p);
  refuses(adadelta, {{"rho", 1.5}, {"rho", -1}, {"rho", nan}, {"eps", -1}, {"weight_decay", -1}});
  NAdam nadam(p);
  refuses(nadam, {{"beta1", 1}, {"momentum_decay", -1}, {"decoupled_weight_decay", 2}});
  RAdam radam(p);
  refuses(radam, {{"beta2", 1}, {"weight_decay", nan}, {"decoupled_weight_decay", 0.5}});
  LAMB lamb(p);
  refuses(lamb, {{"beta1", 1}, {"weight_decay", nan}});
}

TEST(LoadedOptions, OfAScheduleAreLearningRates) {
  SGD opt(std::vector<Tensor>{zeros({1}).requires_grad_()}, {.lr = 0.25});
  LRScheduler schedule(opt, StepLR{.step_size = 1, .gamma = 0.5});
  for (const double wrong : {-1.0, std::nan(""), HUGE_VAL}) {
    EXPECT_THAT(thrown_text([&] {
                  schedule.load_state_dict({{"last_epoch", 3}, {"base_lrs.0", wrong}});
                }),
                HasSubstr("base_lrs.0 is "));
    EXPECT_EQ(opt.param_groups()[0].lr(), 0.25);
  }
}

TEST(LoadedOptions, OfAveragesAreACountOfUpdates) {
  ExponentialMovingAverage average(std::vector<Tensor>{zeros({1}).requires_grad_()});
  OptimizerState state = average.state_dict();
  for (const double wrong : {0.5, -1.0, 1e300}) {
    state.numbers["updates"] = wrong;
    EXPECT_THAT(thrown_text([&] { average.load_state_dict(state); }), HasSubstr("no count"));
  }
}

TEST(LoadedOptions, ManyProblemsAreShortened) {
  std::vector<NamedParameter> params;
  for (int i = 0; i < 40; ++i)
    params.push_back({"p" + std::to_string(i), zeros({1}).requires_grad_()});
  AdamW opt(params);
  OptimizerState state = opt.state_dict();
  for (const NamedParameter& p : params)
    state.tensors[p.name + ".wrong"] = zeros({1});
  EXPECT_THAT(thrown_text([&] { opt.load_state_dict(state); }),
              AllOf(HasSubstr("'p0.wrong' belongs to no"),
                    HasSubstr(" and 30 more"),
                    Not(HasSubstr("p9.wrong"))));
}

TEST(ParamNames, OfSeveralModulesAreToldApartByPrefixes) {
  nn::Linear body(2, 2), head(2, 1);
  SGD opt({{body.named_parameters("body")}, {head.named_parameters("head"), {{"lr", 0.01}}}},
          {.lr = 0.1});
  EXPECT_EQ(opt.param_groups()[0].params()[0].name, "body.weight");
  EXPECT_EQ(opt.param_groups()[1].params()[1].name, "head.bias");
  EXPECT_EQ(opt.param_groups()[1].lr(), 0.01);
  const std::vector<GroupSpec> alike{{body.named_parameters()}, {head.named_parameters()}};
  EXPECT_THAT(thrown_text([&] {
                SGD{alike, {}};
              }),
              AllOf(HasSubstr("two parameters are called 'weight'"),
                    HasSubstr("named_parameters(\"head\")")));
}

}  // namespace
}  // namespace tandem::optim
