// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/step/non_finite_check.hpp"

#include <limits>
#include <string>

#include <gmock/gmock.h>

#include "parallel/engine.hpp"
#include "thrown_text.hpp"

namespace tandem::parallel::test {
namespace {

using tandem::testing::thrown_text;
using ::testing::AllOf;
using ::testing::HasSubstr;
using enum NonFinite;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// A step of three devices, which has reduced its gradients.
struct Checked : TestEngine {
  explicit Checked(NonFiniteCheck::Options options, Mode mode = Mode::server)
      : TestEngine(
            {.devices = 3,
             .mode = mode,
             .checks = {.non_finite_loss = options.loss, .non_finite_gradients = options.gradients},
             .bitwise_leaves = options.bitwise ? 3 : 0}),
        call(make_call({{0, 1}, {1, 2}, {2, 3}})) {}

  const optim::Arena& arena(int device) {
    return *parameters.arenas()[static_cast<std::size_t>(device)];
  }
  /// Puts a NaN into an element of a parameter's gradient as it lies on a device.
  void spoil(int device, std::size_t place, std::int64_t element = 0) {
    arena(device).gradient(place).narrow(0, element, 1).fill_(kNan);
  }
  void inspect() {
    for (Call::Part& part : call->parts)
      non_finite.inspect_gradients(*call, part);
  }
  /// "device: name" of what was found; "" for nothing.
  std::string found() {
    const auto value = non_finite.find(*call);
    return value ? std::to_string(value->device.index) + ": " + value->name : "";
  }

  std::shared_ptr<Call> call;
};

TEST(NonFiniteCheckTest, ALossThatIsAnErrorIsNamedWithItsDevice) {
  Checked c({.loss = error, .gradients = off});
  EXPECT_NO_THROW(c.non_finite.inspect_loss(*c.call, c.call->part(1), 3));
  EXPECT_THAT(thrown_text([&] { c.non_finite.inspect_loss(*c.call, c.call->part(1), -kInf); }),
              AllOf(HasSubstr("the loss is -inf on " + testing::device_name(1)),
                    HasSubstr("lower the learning rate, or look at this batch")));
}

TEST(NonFiniteCheckTest, ABatchWithoutWeightHasNoMeanLoss) {
  Checked c({.loss = error, .gradients = off});
  EXPECT_NO_THROW(c.non_finite.inspect_weight(*c.call, c.call->part(0), 1e-9));
  EXPECT_THAT(thrown_text([&] { c.non_finite.inspect_weight(*c.call, c.call->part(0), 0); }),
              AllOf(HasSubstr("add up to 0, so it has no mean loss"),
                    HasSubstr("set non_finite_loss to NonFinite::skip")));
  EXPECT_THROW(c.non_finite.inspect_weight(*c.call, c.call->part(0), kNan), InvalidArgument);
}

TEST(NonFiniteCheckTest, FiniteGradientsPass) {
  Checked c({.loss = off, .gradients = error});
  c.spoil(1, 0);  // device 1's own, which do not count once they are reduced
  c.inspect();
  EXPECT_FALSE(c.call->gradients_are_non_finite);
  EXPECT_FALSE(c.call->has_no_effect);
}

TEST(NonFiniteCheckTest, NamesTheReplicaThatMadeTheValueAndTheFirstParameter) {
  Checked c({.loss = off, .gradients = warn});
  c.spoil(0, 1);  // the sum
  c.spoil(2, 1);  // the part that device 2 made
  c.inspect();
  EXPECT_EQ(c.found(), "2: bias");
  c.spoil(0, 0);
  c.spoil(1, 0);
  EXPECT_EQ(c.found(), "1: weight");
}

TEST(NonFiniteCheckTest, WhatLiesOnlyWhereItWasReducedWasMadeThere) {
  Checked c({.loss = off, .gradients = warn});
  c.spoil(0, 1);
  c.inspect();
  EXPECT_EQ(c.found(), "0: bias");
}

TEST(NonFiniteCheckTest, EachDeviceLooksAtItsShare) {
  // The weight's bucket of 32 elements is cut at 11 and 22.
  Checked c({.loss = off, .gradients = warn}, Mode::sharded);
  c.spoil(1, 0, 5);  // device 1's part of device 0's share
  c.inspect();
  EXPECT_FALSE(c.call->gradients_are_non_finite);
  c.spoil(1, 0, 15);
  c.inspect();
  EXPECT_TRUE(c.call->gradients_are_non_finite);
  EXPECT_EQ(c.found(), "1: weight");
}

TEST(NonFiniteCheckTest, UnreducedGradientsAreEachReplicasOwn) {
  Checked c({.loss = off, .gradients = warn});
  c.gradients.syncs = GradientSync::off;
  c.spoil(2, 0);
  c.inspect();
  EXPECT_TRUE(c.call->gradients_are_non_finite);
  EXPECT_EQ(c.found(), "2: weight");
  c.spoil(0, 0);
  EXPECT_EQ(c.found(), "0: weight") << "its own, too";
}

TEST(NonFiniteCheckTest, InTheBitwiseModeDeviceZeroHasAllGradients) {
  Checked c({.loss = off, .gradients = warn, .bitwise = true}, Mode::sharded);
  c.spoil(1, 0, 15);
  c.inspect();
  EXPECT_FALSE(c.call->gradients_are_non_finite);
  c.spoil(0, 0, 15);
  c.inspect();
  EXPECT_TRUE(c.call->gradients_are_non_finite);
}

TEST(NonFiniteCheckTest, OnlyAnErrorThrows) {
  for (const NonFinite what : {skip, warn}) {
    Checked c({.loss = off, .gradients = what});
    c.spoil(0, 0);
    c.inspect();
    EXPECT_NO_THROW(c.non_finite.check(*c.call, c.non_finite.find(*c.call)));
  }
  Checked scaled({.loss = off, .gradients = error});
  scaled.call->loss_scale = 2;
  scaled.spoil(0, 0);
  scaled.inspect();
  EXPECT_NO_THROW(scaled.non_finite.check(*scaled.call, scaled.non_finite.find(*scaled.call)))
      << "the scaler has its own way";
}

}  // namespace
}  // namespace tandem::parallel::test
