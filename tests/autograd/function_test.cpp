// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/autograd/function.hpp"

#include <gmock/gmock.h>

#include "tandem/autograd/gradcheck.hpp"
#include "tandem/core/error.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/compare.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/tensor/factories.hpp"

namespace tandem {
namespace {

using ::testing::HasSubstr;

struct Cube {
  static Tensor forward(autograd::FunctionContext& context, const Tensor& x) {
    context.save({x});
    return x * x * x;
  }
  static autograd::Gradients backward(autograd::FunctionContext& context, const Tensor& dy) {
    const Tensor& x = context.saved[0].get();
    return {dy * 3.0 * x * x};
  }
};

struct WrongCube : Cube {
  static autograd::Gradients backward(autograd::FunctionContext& context, const Tensor& dy) {
    return {dy * 2.0 * context.saved[0].get()};
  }
};

struct WrongShape : Cube {
  static autograd::Gradients backward(autograd::FunctionContext&, const Tensor& dy) {
    return {sum(dy)};
  }
};

Tensor input() {
  Tensor x = tensor({0.3, -1.2, 2.0});
  x.requires_grad_();
  return x;
}

TEST(FunctionTest, UsersOpHasItsOwnGradient) {
  const auto f = [](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{autograd::apply<Cube>(in[0])};
  };
  EXPECT_EQ(autograd::gradcheck(f, {input()}), "");
  EXPECT_EQ(autograd::gradgradcheck(f, {input()}), "");
}

TEST(FunctionTest, GradcheckNamesAWrongGradient) {
  const auto f = [](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{autograd::apply<WrongCube>(in[0])};
  };
  EXPECT_THAT(autograd::gradcheck(f, {input()}), HasSubstr("input 0, element 0: backward gives"));
}

TEST(FunctionTest, FastGradcheckMovesAllElementsAtOnce) {
  int calls = 0;
  const auto right = [&](const std::vector<Tensor>& in) {
    ++calls;
    return std::vector<Tensor>{autograd::apply<Cube>(in[0]) * in[1]};
  };
  const std::vector<Tensor> inputs{input(), input()};
  EXPECT_EQ(autograd::gradcheck(right, inputs, {.fast_mode = true}), "");
  EXPECT_EQ(calls, 5) << "one for backward, two for each input";
  EXPECT_EQ(autograd::gradgradcheck(right, inputs, {.fast_mode = true}), "");
  const auto wrong = [](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{in[0] + autograd::apply<WrongCube>(in[1])};
  };
  EXPECT_THAT(autograd::gradcheck(wrong, inputs, {.fast_mode = true}),
              HasSubstr("input 1, along a direction: backward gives"));
}

// An element alone is wrong: it is in every direction.
TEST(FunctionTest, FastGradcheckSeesEachElement) {
  for (int i = 0; i < 3; ++i) {
    const auto f = [i](const std::vector<Tensor>& in) {
      const Tensor right = autograd::apply<Cube>(in[0]), wrong = autograd::apply<WrongCube>(in[0]);
      return std::vector<Tensor>{where(eq(arange(0, 3), static_cast<double>(i)), wrong, right)};
    };
    EXPECT_NE(autograd::gradcheck(f, {input()}, {.fast_mode = true}), "") << i;
  }
}

TEST(FunctionTest, WrongShapesAreRefusedByName) {
  const Tensor x = input();
  const Tensor y = sum(autograd::apply<WrongShape>(x));
  try {
    y.backward();
    FAIL();
  } catch (const InvalidArgument& e) {
    EXPECT_THAT(
        e.what(),
        HasSubstr("'function': the gradient of input 0 has shape (), but the input has (3)"));
  }
}

}  // namespace
}  // namespace tandem
