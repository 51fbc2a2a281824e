// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Numbers that an optimizer keeps for each parameter besides the count of its steps.

#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/nn/module.hpp"
#include "tandem/optim/nadam.hpp"
#include "tandem/optim/optimizer.hpp"
#include "tandem/tensor/factories.hpp"

#include "devices.hpp"
#include "thrown_text.hpp"

namespace tandem::optim {
namespace {

using tandem::testing::thrown_text;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// p -= share * grad, where the share of a parameter halves in each of its steps.
class HalvingDescent : public Optimizer {
 public:
  explicit HalvingDescent(const ParamList& params)
      : Optimizer("HalvingDescent", {{params}}, {{"factor", 0.5}}) {}

  std::vector<double> shares;  // of the slices of the last step
  bool fail = false;
  bool returns_none = false;

 private:
  std::vector<StateSpec> state(const ParamGroup&) const override { return {}; }
  std::vector<NumberSpec> numbers() const override {
    return {{.name = "share", .start = 1, .least = 0, .most = 1}};
  }
  std::vector<double> next_numbers(const std::vector<double>& before,
                                   const ParamGroup& group,
                                   std::int64_t) const override {
    if (returns_none) return {};
    return {before[0] * group.get("factor")};
  }
  void update(const UpdateSlice& slice, const ParamGroup&, std::int64_t) override {
    if (fail) throw DeviceError("cpu:0", "launch", 1, "made up");
    shares.push_back(slice.numbers[0]);
    Tensor(slice.param).add_(slice.grad, -slice.numbers[0]);
  }
};

class NumbersTest : public ::testing::Test {
 protected:
  struct Pair : nn::Module {
    nn::Parameter a = nn::Parameter(zeros({2}));
    nn::Parameter b = nn::Parameter(zeros({3}));
    TANDEM_MODULE(Pair, a, b)
  };

  static void step(HalvingDescent& optimizer, const std::vector<Tensor>& params) {
    optimizer.zero_grad();
    for (const Tensor& p : params)
      p.set_grad(ones_like(p.detach()));
    optimizer.shares.clear();
    optimizer.step();
  }
  static double first(const Tensor& p) { return p.to_doubles()[0]; }

  Pair net;
  HalvingDescent optimizer{net.named_parameters()};
};

TEST_F(NumbersTest, GoOnInEachStepOfTheirParameter) {
  step(optimizer, {net.a, net.b});
  step(optimizer, {net.a, net.b});
  EXPECT_THAT(optimizer.shares, ElementsAre(0.25));  // one slice
  EXPECT_EQ(first(net.a), -0.75);
  step(optimizer, {net.b});
  EXPECT_EQ(optimizer.state_dict().numbers.at("a.share"), 0.25);
  EXPECT_EQ(optimizer.state_dict().numbers.at("b.share"), 0.125);
}

TEST_F(NumbersTest, ThatDifferKeepNeighboursApart) {
  step(optimizer, {net.a, net.b});
  OptimizerState state = optimizer.state_dict();
  state.numbers.at("b.share") = 0.125;
  optimizer.load_state_dict(state);
  step(optimizer, {net.a, net.b});
  EXPECT_THAT(optimizer.shares, ElementsAre(0.25, 0.0625));
  EXPECT_EQ(first(net.a), -0.75);
  EXPECT_EQ(first(net.b), -0.5625);
}

TEST_F(NumbersTest, FollowAParameterThatMoves) {
  step(optimizer, {net.a, net.b});
  net.to(DType::f64);
  step(optimizer, {net.a, net.b});
  EXPECT_THAT(optimizer.shares, ElementsAre(0.25));
}

TEST_F(NumbersTest, AreThoseOfAStepThatWasMade) {
  step(optimizer, {net.a, net.b});
  net.a.set_grad(ones({2}));
  optimizer.prepare();
  optimizer.prepare();
  optimizer.shares.clear();
  EXPECT_EQ(optimizer.commit(), nullptr);
  EXPECT_THAT(optimizer.shares, ElementsAre(0.25));
  const OptimizerState before = optimizer.state_dict();
  optimizer.fail = true;
  EXPECT_THROW(step(optimizer, {net.a, net.b}), DeviceError);
  EXPECT_EQ(optimizer.state_dict().numbers, before.numbers);
}

TEST_F(NumbersTest, OfParametersThatAStateDoesNotNameStartAnew) {
  const OptimizerState fresh = optimizer.state_dict();
  EXPECT_FALSE(fresh.numbers.contains("a.share"));
  step(optimizer, {net.a, net.b});
  optimizer.load_state_dict(fresh);
  step(optimizer, {net.a, net.b});
  EXPECT_THAT(optimizer.shares, ElementsAre(0.5));
}

TEST_F(NumbersTest, ThatDoNotFitAreRefused) {
  step(optimizer, {net.a, net.b});
  const OptimizerState before = optimizer.state_dict();
  OptimizerState wrong = before;
  wrong.numbers.at("a.share") = 1.5;
  wrong.numbers.erase("b.share");
  wrong.numbers["c.share"] = 1;
  const std::string text = thrown_text([&] { optimizer.load_state_dict(wrong); });
  EXPECT_THAT(text, HasSubstr("'a.share' is 1.5; it must be in [0, 1]"));
  EXPECT_THAT(text, HasSubstr("has no 'b.share'"));
  EXPECT_THAT(text, HasSubstr("'c.share' is not an option"));
  wrong = before;
  wrong.numbers.at("a.share") = std::nan("");
  EXPECT_THAT(thrown_text([&] { optimizer.load_state_dict(wrong); }), HasSubstr("'a.share' is"));
  EXPECT_EQ(optimizer.state_dict().numbers, before.numbers);
}

TEST_F(NumbersTest, AnOptimizerThatReturnsTooFewIsRefused) {
  optimizer.returns_none = true;
  EXPECT_THAT(thrown_text([&] { step(optimizer, {net.a}); }),
              HasSubstr("HalvingDescent: next_numbers returned 0 numbers; numbers() has 1"));
}

// PyTorch keeps it in a tensor of f32; a state that went through such a tensor is the same.
TEST(NAdamNumbers, TheProductOfMomentaIsAnF32) {
  const Tensor p = zeros({2}, {.dtype = DType::f64}).requires_grad_();
  NAdam optimizer(std::vector<Tensor>{p});
  float product = 1;
  for (int t = 1; t <= 5; ++t) {
    p.set_grad(ones({2}, {.dtype = DType::f64}));
    optimizer.step();
    product *= static_cast<float>(0.9 * (1 - 0.5 * std::pow(0.96, t * 4e-3)));
    EXPECT_EQ(optimizer.state_dict().numbers.at("0.mu_product"), static_cast<double>(product));
  }
}

// As PyTorch's where f64 is its default dtype.
TEST(NAdamNumbers, TheProductOfMomentaMayBeAnF64) {
  const Tensor p = zeros({2}, {.dtype = DType::f64}).requires_grad_();
  NAdam optimizer({std::vector<Tensor>{p}}, NAdamOptions{.product_dtype = DType::f64});
  p.set_grad(ones({2}, {.dtype = DType::f64}));
  optimizer.step();
  EXPECT_EQ(optimizer.state_dict().numbers.at("0.mu_product"),
            0.9 * (1 - 0.5 * std::pow(0.96, 4e-3)));
}

}  // namespace
}  // namespace tandem::optim
