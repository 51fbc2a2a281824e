// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/optim/optimizer.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/nn/module.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/optim/arena.hpp"
#include "tandem/optim/sgd.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"

#include "devices.hpp"
#include "thrown_text.hpp"

namespace tandem::optim {
namespace {

using tandem::testing::thrown_text;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

Tensor parameter(std::initializer_list<double> values, Device device = get_default_device()) {
  return from_host<double>(std::span(values.begin(), values.size()),
                           {static_cast<std::int64_t>(values.size())},
                           device)
      .requires_grad_();
}

void give(const Tensor& x, double gradient) {
  x.set_grad(full(x.shape(), gradient, {.dtype = x.dtype(), .device = x.device()}));
}

std::size_t state_nbytes(Device device = get_default_device()) {
  return logical_device(device)
      .memory_stats()
      .by_category[static_cast<std::size_t>(Category::optimizer)];
}

struct Net : nn::Module {
  nn::Parameter weight = ones({3});
  nn::Parameter bias = ones({1});
  TANDEM_MODULE(Net, weight, bias)
};

/// A user's own: p -= lr * sign(grad), and counts what it was called with.
class SignDescent : public Optimizer {
 public:
  explicit SignDescent(const ParamList& params, Granularity granularity = Granularity::element)
      : Optimizer("SignDescent", {{params}}, {{"lr", 0.5}}), granularity_(granularity) {}

  std::vector<std::vector<std::int64_t>> shapes;  // of the slices of the last step
  bool fail = false;

 private:
  std::vector<StateSpec> state(const ParamGroup&) const override { return {{"seen", 7}}; }
  Granularity granularity() const override { return granularity_; }
  void update(const UpdateSlice& slice, const ParamGroup& group, std::int64_t) override {
    if (fail) throw DeviceError("cpu:0", "launch", 1, "made up");
    shapes.emplace_back(slice.param.shape().begin(), slice.param.shape().end());
    Tensor(slice.param).add_(slice.grad, -group.lr());
    Tensor(slice.state.at(0)).add_(slice.grad);
  }

  Granularity granularity_;
};

TEST(Optimizer, BindsItsParametersInOneArenaByGroup) {
  const Tensor a = parameter({1}), b = parameter({2}), c = parameter({3});
  const SGD opt({{std::vector<NamedParameter>{{"a", a}, {"c", c}}},
                 {std::vector<NamedParameter>{{"b", b}}, {{"lr", 0.5}}}},
                {.lr = 0.1});

  const auto arena = Arena::of(a);
  ASSERT_NE(arena, nullptr);
  EXPECT_EQ(Arena::of(b), arena);
  EXPECT_EQ(arena->layout().blocks().size(), 2u);
  EXPECT_EQ(opt.param_groups()[1].lr(), 0.5);
}

TEST(Optimizer, UpdatesEachGroupWithItsOptions) {
  const Tensor a = parameter({1}), b = parameter({1});
  SGD opt({{std::vector<Tensor>{a}}, {std::vector<Tensor>{b}, {{"lr", 0.5}}}}, {.lr = 0.25});
  give(a, 1);
  give(b, 1);

  opt.step();
  EXPECT_EQ(a.item(), 0.75);
  EXPECT_EQ(b.item(), 0.5);

  opt.param_groups()[0].set("lr", 0);
  opt.step();
  EXPECT_EQ(a.item(), 0.75);
  EXPECT_EQ(b.item(), 0);
}

TEST(Optimizer, UpdatesNeighboursInOneSlice) {
  const Tensor a = parameter({1, 2, 3}), b = parameter({4});
  SignDescent opt(std::vector<Tensor>{a, b});
  give(a, 2);
  give(b, 4);

  opt.step();

  ASSERT_EQ(opt.shapes.size(), 1u);
  EXPECT_THAT(opt.shapes[0], ElementsAre(64));  // two units of 32 doubles
  EXPECT_THAT(a.to_host<double>(), ElementsAre(0, 1, 2));
  EXPECT_EQ(b.item(), 2);
}

TEST(Optimizer, GivesWholeTensorsWhereAskedFor) {
  const Tensor a = full({2, 3}, 1, {.dtype = DType::f64}).requires_grad_();
  const Tensor b = parameter({4});
  SignDescent opt(std::vector<Tensor>{a, b}, Granularity::tensor);
  give(a, 2);
  give(b, 4);

  opt.step();

  EXPECT_THAT(opt.shapes, ElementsAre(ElementsAre(2, 3), ElementsAre(1)));
  EXPECT_THAT(a.to_host<double>(), Each(0.0));
  EXPECT_EQ(opt.state_dict().tensors.at("1.seen").item(), 7 + 4);
}

TEST(Optimizer, PassesOverParametersWithoutGradient) {
  const Tensor a = parameter({1}), b = parameter({1}), c = parameter({1});
  SignDescent opt(std::vector<Tensor>{a, b, c});
  give(b, 2);
  opt.step();
  opt.zero_grad();
  EXPECT_FALSE(b.grad().defined());
  give(a, 2);
  give(c, 2);

  opt.step();

  EXPECT_EQ(a.item(), 0);
  EXPECT_EQ(b.item(), 0);  // by the first step alone
  EXPECT_EQ(c.item(), 0);
  EXPECT_EQ(opt.shapes.size(), 3u);
  EXPECT_EQ(opt.state_dict().numbers.at("1.step"), 1);
}

// Adam's first step is lr * sign(g) whatever the gradient: a parameter that starts late has its own
// t.
TEST(Optimizer, CountsStepsForEachParameter) {
  const Tensor a = parameter({0}), late = parameter({0});
  Adam opt(std::vector<Tensor>{a, late}, {.lr = 0.5});
  for (int i = 0; i < 3; ++i) {
    give(a, 1);
    opt.step();
  }
  give(late, 123);
  opt.step();

  EXPECT_NEAR(late.item(), -0.5, 1e-9);
  EXPECT_EQ(opt.state_dict().numbers.at("0.step"), 4);
  EXPECT_EQ(opt.state_dict().numbers.at("1.step"), 1);
}

TEST(Optimizer, ATiedParameterIsUpdatedOnce) {
  const Tensor tied = parameter({1});
  SGD opt(std::vector<NamedParameter>{{"embed", tied}, {"head", tied}}, {.lr = 0.25});
  give(tied, 1);

  opt.step();

  EXPECT_EQ(tied.item(), 0.75);
  EXPECT_EQ(opt.state_dict().numbers.at("embed.step"), 1);
  EXPECT_FALSE(opt.state_dict().numbers.contains("head.step"));
}

TEST(Optimizer, FollowsParametersToAnotherArenaWithTheirState) {
  const Tensor a = parameter({1}), b = parameter({1}), other = parameter({9});
  const auto run = [](Optimizer& opt, const std::vector<Tensor>& params) {
    for (const Tensor& x : params)
      give(x, 2);
    opt.step();
  };
  SGD opt(std::vector<Tensor>{a, b}, {.lr = 0.125, .momentum = 0.5});
  run(opt, {a});
  const auto wrapped = Arena::bind({{"other", other}, {"b", b}, {"a", a}});
  run(opt, {a, b});

  EXPECT_EQ(Arena::of(a), wrapped);
  EXPECT_EQ(a.item(), 1 - 0.25 - 0.125 * (0.5 * 2 + 2));
  EXPECT_EQ(b.item(), 0.75);
  EXPECT_EQ(other.item(), 9);
}

TEST(Optimizer, FollowsAModuleToAnotherDeviceAndTypeWithItsState) {
  const Device there = testing::device(1);
  Net net;
  SGD opt(net.named_parameters(), {.lr = 0.125, .momentum = 0.5});
  give(net.bias, 2);
  opt.step();
  net.to(DType::f64);
  net.to(there);
  const double before = net.bias.item();
  give(net.bias, 2);

  opt.step();

  EXPECT_EQ(net.bias.item(), before - 0.125 * (0.5 * 2 + 2));
  const Tensor state = opt.state_dict().tensors.at("bias.momentum_buffer");
  EXPECT_EQ(state.device(), there);
  EXPECT_EQ(state.dtype(), DType::f64);
  EXPECT_THAT(Arena::of(net.bias), Not(nullptr));
}

TEST(Optimizer, UpdatesParametersThatWereInAnArenaBefore) {
  const Tensor a = parameter({1}), b = parameter({1});
  const auto arena = Arena::bind({{"a", a}, {"b", b}});
  SGD opt({{std::vector<Tensor>{b}}, {std::vector<Tensor>{a}, {{"lr", 0.5}}}}, {.lr = 0.25});
  EXPECT_EQ(Arena::of(a), arena);
  give(a, 1);
  give(b, 1);

  opt.step();

  EXPECT_EQ(a.item(), 0.5);
  EXPECT_EQ(b.item(), 0.75);
}

TEST(Optimizer, AllocatesStateInTheFirstStepAlone) {
  const std::size_t before = state_nbytes();
  const Tensor a = parameter({1, 2, 3});
  AdamW opt(std::vector<Tensor>{a});
  EXPECT_EQ(state_nbytes(), before);
  give(a, 1);

  opt.step();
  EXPECT_EQ(state_nbytes(), before + 2 * 256);  // two states of one unit
  const std::uint64_t calls = logical_device({}).memory_stats().allocations;
  opt.step();
  EXPECT_EQ(logical_device({}).memory_stats().allocations, calls);
}

TEST(Optimizer, ChangesNothingWhereStateDoesNotFit) {
  const Device device = testing::device(7);
  LogicalDevice& logical = logical_device(device);
  const Tensor a = parameter({1}, device);
  AdamW opt(std::vector<Tensor>{a}, {.lr = 0.1});
  give(a, 1);
  const std::size_t before = logical.memory_stats().in_use;

  logical.set_limit(before + 2 * 256 - 1);
  EXPECT_THROW(opt.step(), OutOfMemory);
  EXPECT_EQ(logical.memory_stats().in_use, before);
  EXPECT_EQ(a.item(), 1);

  logical.set_limit(before + 2 * 256);
  EXPECT_NO_THROW(opt.step());
  logical.set_limit(SIZE_MAX);
  EXPECT_NEAR(a.item(), (1 - 0.1 * 1e-2) - 0.1, 1e-6);
}

TEST(Optimizer, NamesAGradientThatIsNotFinite) {
  for (const double bad : {std::numeric_limits<double>::infinity(), std::nan("")}) {
    const Tensor a = parameter({1}), b = parameter({1});
    SGD opt(std::vector<NamedParameter>{{"conv.weight", a}, {"head.bias", b}}, {.lr = 1});
    give(a, 1e300);
    give(b, bad);

    const std::string text = thrown_text([&] { opt.step({.error_if_nonfinite = true}); });

    EXPECT_THAT(text, HasSubstr("'head.bias' on " + testing::device_name(0)));
    EXPECT_EQ(a.item(), 1);
  }
}

TEST(Optimizer, CommitDoesWhatPrepareFound) {
  const Tensor a = parameter({1});
  SGD opt(std::vector<Tensor>{a}, {.lr = 0.5});
  give(a, 1);

  opt.prepare();
  EXPECT_EQ(a.item(), 1);
  EXPECT_EQ(opt.commit(), nullptr);
  EXPECT_EQ(a.item(), 0.5);
  EXPECT_EQ(opt.commit(), nullptr);  // nothing is prepared
  EXPECT_EQ(a.item(), 0.5);
}

TEST(Optimizer, IsOutOfUseAfterAFailedCommitUntilAStateIsLoaded) {
  const Tensor a = parameter({1});
  SignDescent opt(std::vector<Tensor>{a});
  give(a, 1);
  const OptimizerState start = opt.state_dict();

  opt.fail = true;
  EXPECT_THROW(opt.step(), DeviceError);
  opt.fail = false;
  EXPECT_THAT(thrown_text([&] { opt.step(); }), HasSubstr("load_state_dict"));

  opt.load_state_dict(start);
  EXPECT_NO_THROW(opt.step());
  EXPECT_EQ(a.item(), 0.5);
}

TEST(Optimizer, RefusesWrongParametersAndOptions) {
  const Tensor a = parameter({1}), b = parameter({1});
  const auto sgd = [](std::vector<GroupSpec> groups, SGDOptions options = {}) {
    return thrown_text([&] { SGD(groups, options); });
  };
  EXPECT_THAT(sgd({}), HasSubstr("no parameters"));
  EXPECT_THAT(sgd({{std::vector<Tensor>{a}}, {std::vector<Tensor>{a}}}),
              HasSubstr("groups 0 and 1"));
  EXPECT_THAT(sgd({{std::vector<NamedParameter>{{"w", a}, {"w", b}}}}), HasSubstr("'w'"));
  EXPECT_THAT(sgd({{std::vector<Tensor>{a}, {{"rate", 1}}}}),
              HasSubstr("there is no option 'rate'; the options are dampening, lr"));
  EXPECT_THAT(sgd({{std::vector<Tensor>{a}}}, {.lr = -1}), HasSubstr("lr is -1"));
  EXPECT_THAT(sgd({{std::vector<Tensor>{a}}}, {.nesterov = true}),
              HasSubstr("nesterov needs momentum"));
  EXPECT_THAT(thrown_text([&] {
                AdamW(std::vector<Tensor>{a}, {.betas = {0.9, 1.0}});
              }),
              HasSubstr("beta2 is 1"));
}

class StateTest : public ::testing::Test {
 protected:
  struct Model {
    Tensor w = full({2, 3}, 1, {.dtype = DType::f64}).requires_grad_();
    Tensor b = parameter({1, 2});
    Tensor idle = parameter({5});
    std::vector<NamedParameter> named() const { return {{"w", w}, {"b", b}, {"idle", idle}}; }
    void train(Optimizer& opt, int steps) const {
      for (int i = 0; i < steps; ++i) {
        give(w, 0.25 + i);
        give(b, -1.5);
        opt.step();
      }
    }
  };
};

TEST_F(StateTest, IsNamedByParameterAndHoldsWhatHasStepped) {
  const Model model;
  AdamW opt(model.named());
  model.train(opt, 2);

  const OptimizerState state = opt.state_dict();

  EXPECT_THAT(state.tensors,
              UnorderedElementsAre(
                  Key("w.exp_avg"), Key("w.exp_avg_sq"), Key("b.exp_avg"), Key("b.exp_avg_sq")));
  EXPECT_EQ(state.tensors.at("w.exp_avg").shape(), (Shape{2, 3}));
  EXPECT_EQ(state.numbers.at("w.step"), 2);
  EXPECT_EQ(state.numbers.at("param_groups.0.beta2"), 0.999);
}

TEST_F(StateTest, AnOptimizerWithALoadedStateGoesOnAlike) {
  const Model first, second;
  AdamW a(first.named(), {.lr = 0.1}), b(second.named());
  first.train(a, 3);
  second.w.detach().copy_(first.w.detach());
  second.b.detach().copy_(first.b.detach());

  b.load_state_dict(a.state_dict());
  first.train(a, 2);
  second.train(b, 2);

  EXPECT_EQ(second.w.to_host<double>(), first.w.to_host<double>());
  EXPECT_EQ(second.b.to_host<double>(), first.b.to_host<double>());
  EXPECT_EQ(b.param_groups()[0].lr(), 0.1);
}

TEST_F(StateTest, ListsAllThatDoesNotFitAndChangesNothing) {
  const Model model;
  AdamW opt(model.named());
  model.train(opt, 1);
  OptimizerState wrong = opt.state_dict();
  wrong.tensors.erase("w.exp_avg");
  wrong.tensors["b.exp_avg"] = zeros({3}, {.dtype = DType::f64});
  wrong.tensors["head.exp_avg"] = zeros({3});
  wrong.numbers["b.step"] = 1.5;
  wrong.numbers["param_groups.0.lr"] = 9;
  const auto before = opt.state_dict().tensors.at("b.exp_avg").to_host<double>();

  const std::string text = thrown_text([&] { opt.load_state_dict(wrong); });

  EXPECT_THAT(text, HasSubstr("has no 'w.exp_avg'"));
  EXPECT_THAT(text, HasSubstr("'b.step' is 1.5"));
  EXPECT_THAT(text, HasSubstr("'head.exp_avg' belongs to no parameter"));
  EXPECT_EQ(opt.param_groups()[0].lr(), 1e-3);
  EXPECT_EQ(opt.state_dict().tensors.at("b.exp_avg").to_host<double>(), before);
  EXPECT_EQ(opt.state_dict().numbers.at("b.step"), 1);

  wrong = opt.state_dict();
  wrong.tensors["b.exp_avg"] = zeros({3}, {.dtype = DType::f64});
  EXPECT_THAT(thrown_text([&] { opt.load_state_dict(wrong); }),
              HasSubstr("f64 (3) on " + testing::device_name(0) + ", expected f64 (2)"));
}

TEST_F(StateTest, ParametersThatAreNotNamedStartAnew) {
  const Model model;
  SGD opt(model.named(), {.lr = 0.5, .momentum = 0.5});
  const OptimizerState fresh = opt.state_dict();
  model.train(opt, 3);

  opt.load_state_dict(fresh);
  const double before = model.b.to_host<double>()[0];
  model.train(opt, 1);

  EXPECT_EQ(model.b.to_host<double>()[0], before + 0.75);  // no momentum of the steps before
}

}  // namespace
}  // namespace tandem::optim
