// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/optim/clip.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/optim/arena.hpp"
#include "tandem/tensor/factories.hpp"

#include "devices.hpp"

namespace tandem::optim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A parameter of zeros with these gradients.
Tensor with_gradient(std::initializer_list<float> gradient, Device device = get_default_device()) {
  const Tensor grad = tensor(gradient, device);
  Tensor x = zeros_like(grad).requires_grad_();
  x.set_grad(grad);
  return x;
}

class ClipTest : public ::testing::TestWithParam<bool> {
 protected:
  /// 3 and 4: their norm is 5. One without gradient between them.
  std::vector<Tensor> params{
      with_gradient({3, 0}), zeros({2}).requires_grad_(), with_gradient({-4})};

  void SetUp() override {
    if (!GetParam()) return;
    Arena::bind({{"a", params[0]}, {"b", params[1]}, {"c", params[2]}});
    Arena::of(params[0])->gradient(1).fill_(1e6);  // stale: no gradient refers to it
  }
};

TEST_P(ClipTest, ScalesToTheNormAndReturnsTheOneBefore) {
  const Tensor norm = clip_grad_norm_(params, 2.5);

  EXPECT_FLOAT_EQ(static_cast<float>(norm.item()), 5);
  EXPECT_NEAR(params[0].grad().to_host<float>()[0], 1.5, 1e-6);
  EXPECT_NEAR(params[2].grad().item(), -2, 1e-6);
  EXPECT_FALSE(params[1].grad().defined());
}

TEST_P(ClipTest, LeavesSmallGradientsAsTheyAre) {
  clip_grad_norm_(params, 5.1);
  EXPECT_THAT(params[0].grad().to_host<float>(), ElementsAre(3, 0));
}

TEST_P(ClipTest, KnowsOtherNorms) {
  EXPECT_NEAR(clip_grad_norm_(params, 100, {.norm_type = 1}).item(), 7, 1e-5);
  EXPECT_EQ(
      clip_grad_norm_(params, 100, {.norm_type = std::numeric_limits<double>::infinity()}).item(),
      4);
}

TEST_P(ClipTest, ClampsValues) {
  clip_grad_value_(params, 3.5);
  EXPECT_THAT(params[0].grad().to_host<float>(), ElementsAre(3, 0));
  EXPECT_THAT(params[2].grad().to_host<float>(), ElementsAre(-3.5f));
}

TEST_P(ClipTest, CountsARepeatedParameterOnce) {
  params.push_back(params[0]);
  EXPECT_FLOAT_EQ(static_cast<float>(clip_grad_norm_(params, 2.5).item()), 5);
  EXPECT_NEAR(params[0].grad().to_host<float>()[0], 1.5, 1e-6);
}

TEST_P(ClipTest, RefusesANormThatIsNotFiniteWhereAskedFor) {
  params[2].set_grad(tensor({std::nanf("")}));
  EXPECT_THROW(clip_grad_norm_(params, 1, {.error_if_nonfinite = true}), InvalidArgument);
  EXPECT_THAT(params[0].grad().to_host<float>(), ElementsAre(3, 0));
  EXPECT_TRUE(std::isnan(clip_grad_norm_(params, 1).item()));
}

INSTANTIATE_TEST_SUITE_P(Storage, ClipTest, ::testing::Values(false, true), [](const auto& param) {
  return param.param ? "Arena" : "Loose";
});

TEST(Clip, NothingToClipHasNormZero) {
  EXPECT_EQ(clip_grad_norm_({zeros({2}).requires_grad_()}, 1).item(), 0);
  EXPECT_EQ(clip_grad_norm_({}, 1).item(), 0);
}

TEST(Clip, RefusesSeveralDevicesAndOptionsOutOfRange) {
  const std::vector<Tensor> apart{with_gradient({1}), with_gradient({1}, testing::device(1))};
  try {
    clip_grad_norm_(apart, 1);
    FAIL() << "expected InvalidArgument";
  } catch (const InvalidArgument& e) {
    EXPECT_THAT(e.what(), HasSubstr(testing::device_name(0) + " and " + testing::device_name(1)));
  }
  EXPECT_THROW(clip_grad_norm_({apart[0]}, -1), InvalidArgument);
  EXPECT_THROW(clip_grad_norm_({apart[0]}, 1, {.norm_type = 0}), InvalidArgument);
  EXPECT_THROW(clip_grad_value_({apart[0]}, -1), InvalidArgument);
}

}  // namespace
}  // namespace tandem::optim
