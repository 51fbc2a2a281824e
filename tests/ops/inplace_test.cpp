// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/tensor/factories.hpp"

#include "devices.hpp"
#include "thrown_text.hpp"

namespace tandem {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::thrown_text;

TEST(InPlaceTest, ChangesTheSharedStorage) {
  Tensor x = zeros({2, 3});
  Tensor column = x.select(1, 1);
  column.fill_(5);
  x.add_(tensor({1.0f, 0.0f, -1.0f}), 2);
  EXPECT_THAT(x.to_doubles(), ElementsAre(2, 5, -2, 2, 5, -2));
  x.mul_(0.5).copy_(x.clone() + 1.0);
  EXPECT_THAT(x.to_doubles(), ElementsAre(2, 3.5, 0, 2, 3.5, 0));
}

TEST(InPlaceTest, CopyConvertsBroadcastsAndCrossesDevices) {
  Tensor x = zeros({2, 3}, {.dtype = DType::f64, .device = testing::device(1)});
  x.copy_(tensor<std::int32_t>({1, 2, 3}));
  EXPECT_THAT(x.to_doubles(), ElementsAre(1, 2, 3, 1, 2, 3));
  x.select(0, 1).copy_(tensor({7.0, 8.0, 9.0}));
  EXPECT_THAT(x.to_doubles(), ElementsAre(1, 2, 3, 7, 8, 9));
}

TEST(InPlaceTest, LeafThatRequiresGradIsRefused) {
  Tensor x = ones({2}).requires_grad_();
  for (const std::string& text : {thrown_text([&] { x.fill_(0); }),
                                  thrown_text([&] { x.add_(x.detach()); }),
                                  thrown_text([&] { x.mul_(2); }),
                                  thrown_text([&] { x.copy_(ones({2})); })}) {
    EXPECT_THAT(text, AllOf(HasSubstr("f32 (2)"), HasSubstr("NoGrad")));
  }
  EXPECT_THAT(x.to_doubles(), ElementsAre(1, 1));
  const autograd::NoGrad off;
  x.mul_(3);
  EXPECT_THAT(x.to_doubles(), ElementsAre(3, 3));
}

TEST(InPlaceTest, ResultsOnTheTapeAreRefused) {
  const Tensor x = ones({2}).requires_grad_();
  Tensor y = x * 2.0;
  EXPECT_THAT(thrown_text([&] { y.mul_(2); }), HasSubstr("recorded op"));
  Tensor plain = zeros({2});
  EXPECT_THAT(thrown_text([&] { plain.copy_(y); }), HasSubstr("detach"));
  EXPECT_THAT(thrown_text([&] { plain.add_(y); }), HasSubstr("requires grad"));
}

TEST(InPlaceTest, WrongShapesAndTypesAreRefused) {
  Tensor x = zeros({2, 3});
  EXPECT_THAT(thrown_text([&] { x.add_(ones({2})); }),
              AllOf(HasSubstr("(2, 3)"), HasSubstr("(2)")));
  EXPECT_THAT(thrown_text([&] { x.copy_(ones({4, 2, 3})); }), HasSubstr("(4, 2, 3)"));
  Tensor i = zeros({2}, {.dtype = DType::i32});
  EXPECT_THAT(thrown_text([&] { i.add_(ones({2})); }), HasSubstr("i32"));
  EXPECT_THAT(thrown_text([&] { i.mul_(0.5); }), HasSubstr("0.5"));
  Tensor wide = ones({1, 3}).expand({2, 3});
  EXPECT_THAT(thrown_text([&] { wide.add_(x); }), HasSubstr("expanded"));
}

TEST(InPlaceTest, SavedTensorNoticesTheChange) {
  const Tensor x = ones({2}).requires_grad_();
  Tensor factor = full({2}, 3);
  const Tensor y = sum(x * factor);
  factor.fill_(4);
  EXPECT_THAT(thrown_text([&] { y.backward(); }), HasSubstr("changed in place"));
}

}  // namespace
}  // namespace tandem
