// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/nn/sequential.hpp"

#include <algorithm>

#include <gmock/gmock.h>

#include "tandem/nn/activation.hpp"
#include "tandem/nn/dropout.hpp"
#include "tandem/nn/flatten.hpp"
#include "tandem/nn/linear.hpp"
#include "tandem/nn/replicate.hpp"
#include "tandem/runtime/runtime.hpp"

#include "nn/toy.hpp"

namespace tandem::nn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Body = Sequential<toy::Cell, Sequential<toy::Cell, Identity>>;

struct SequentialNet : Module {
  Body body{toy::Cell(1), Sequential(toy::Cell(2), Identity())};
  Tensor forward(const Tensor& x) { return body(x); }
  TANDEM_MODULE(SequentialNet, body)
};

TEST(SequentialTest, ChildrenAreNamedByNumber) {
  SequentialNet net;
  std::vector<std::string> names;
  for (const NamedTensor& entry : net.named_parameters())
    names.push_back(entry.name);
  EXPECT_THAT(names, ElementsAre("body.0.weight", "body.1.0.weight"));

  net(Tensor());
  EXPECT_EQ(net.body.get<1>().get<0>().seen_path, "body.1.0");
  SequentialNet copy = clone(net);
  EXPECT_FALSE(copy.body.get<0>().weight.is(net.body.get<0>().weight));
}

struct Half : Module {
  int forward(double x) { return static_cast<int>(x / 2); }
  TANDEM_MODULE(Half)
};
struct Both : Module {
  std::pair<int, int> forward(int x) { return {x, -x}; }
  TANDEM_MODULE(Both)
};

TEST(SequentialTest, EveryLayerGetsTheResultOfTheOneBefore) {
  Sequential net{Half(), Both()};
  EXPECT_EQ(net(9.0), std::make_pair(4, -4));
  static_assert(decltype(net)::size() == 2);
}

TEST(SequentialTest, LinearAndReluGiveTheValuesWorkedOutByHand) {
  Sequential net{Linear(2, 2, {.dtype = DType::f64}),
                 ReLU(),
                 Linear(2, 1, {.bias = false, .dtype = DType::f64})};
  StateDict state;
  state.set("0.weight", tensor<double>({1, 2, -3, 4}).reshape({2, 2}));
  state.set("0.bias", tensor<double>({0.5, -8}));
  state.set("2.weight", tensor<double>({10, 100}).reshape({1, 2}));
  net.load_state_dict(state);

  const Tensor x = tensor<double>({1, 1, -1, 3}).reshape({2, 2});
  // hidden: (3.5, -7) -> (3.5, 0); (5.5, 7)
  EXPECT_THAT(net(x).to_doubles(), ElementsAre(35, 755));
}

TEST(DropoutTest, IsTheIdentityInEvaluationAndScalesInTraining) {
  manual_seed(3);
  Dropout dropout(0.25);
  const Tensor x = ones({100, 50});
  const std::vector<double> y = dropout(x).to_doubles();
  const auto zeros = std::ranges::count(y, 0.0);
  EXPECT_NEAR(static_cast<double>(zeros) / 5000, 0.25, 0.03);
  EXPECT_THAT(y, ::testing::Each(::testing::AnyOf(0.0, ::testing::DoubleNear(4.0 / 3, 1e-6))));

  EXPECT_NE(dropout(x).to_doubles(), y) << "the next step has another mask";
  manual_seed(3);
  EXPECT_EQ(dropout(x).to_doubles(), y);
  dropout.eval();
  EXPECT_TRUE(dropout(x).is(x));
  EXPECT_THROW(Dropout(1.0), InvalidArgument);
}

struct TwoDropouts : Module {
  Dropout a{0.5}, b{0.5};
  std::pair<Tensor, Tensor> forward(const Tensor& x) { return {a(x), b(x)}; }
  TANDEM_MODULE(TwoDropouts, a, b)
};

TEST(DropoutTest, ModulesOfOneStepHaveMasksOfTheirOwn) {
  manual_seed(3);
  TwoDropouts net;
  const auto [a, b] = net(ones({64}));
  EXPECT_NE(a.to_doubles(), b.to_doubles());
}

TEST(LinearTest, WrongSizesAreRefused) {
  EXPECT_THROW(Linear(0, 3), InvalidArgument);
  Linear layer(4, 3);
  try {
    layer(ones({2, 5}));
    FAIL();
  } catch (const InvalidArgument& e) {
    EXPECT_THAT(e.what(), HasSubstr("(2, 5)"));
    EXPECT_THAT(e.what(), HasSubstr("(3, 4)"));
  }
}

}  // namespace
}  // namespace tandem::nn
