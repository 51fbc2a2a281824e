// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/step/bitwise_pass.hpp"

#include <gmock/gmock.h>

#include "tandem/autograd/row_group.hpp"

#include "parallel/engine.hpp"

namespace tandem::parallel::test {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;

/// Passes over leaves of the rows 0 to 3.
struct Bitwise : TestEngine {
  explicit Bitwise(int n) : TestEngine({.devices = n}) {}

  std::shared_ptr<Call> take(const std::vector<Leaf>& leaves) {
    return take(leaves, [this](const Replica& r) { return loss_of(r); });
  }
  std::shared_ptr<Call> take(const std::vector<Leaf>& leaves, GradientPass::LossBody body) {
    const auto call = calls.open(rows_of(leaves, list.size()));
    pass = std::make_unique<BitwisePass>(non_finite, std::move(body), leaves);
    run(call, Phase::replicate, [this](Call& c, Call::Part& part) {
      send(c, part);
      pass->run(c, part);
    });
    return call;
  }
  /// The gradients, which lie in device 0's arena. The pass leaves it to the step to show them.
  std::vector<double> gradient(std::size_t place) {
    return parameters.arena()->gradient(place).to_doubles();
  }

  std::unique_ptr<BitwisePass> pass;
};

TEST(BitwisePassTest, GradientsOfTheMeanLossAreOnDeviceZero) {
  Bitwise b(2);
  const auto call = b.take({{0, {0, 2}}, {1, {2, 3}}, {1, {3, 4}}});
  EXPECT_THAT(b.gradient(0), Each(DoubleNear(1, 1e-14)));
  EXPECT_THAT(b.gradient(1), Each(DoubleNear(9.6, 1e-13)));
  EXPECT_EQ(call->part(0).sum, 3048);
  EXPECT_EQ(call->part(0).weight, 10);
  EXPECT_EQ(call->part(1).weight, 0) << "device 0 has that of all leaves";
  EXPECT_TRUE(b.pass->gives_whole_gradients());
}

TEST(BitwisePassTest, ALeafIsComputedAloneByOneThread) {
  for (const int n : {1, 2}) {
    Bitwise b(n);
    b.take({{0, {0, 1}}, {0, {1, 2}}, {n - 1, {2, 4}}}, [&b](const Replica& r) {
      EXPECT_LE(r.rows.size(), r.rows.begin == 2 ? 2 : 1);
      EXPECT_EQ(context().rows, r.rows);
      EXPECT_EQ(current_row_group(), nullptr);
      EXPECT_EQ(context().threads, 1);
      return b.loss_of(r);
    });
  }
}

TEST(BitwisePassTest, AGradientThatOnlyOneLeafMakesCounts) {
  Bitwise b(2);
  b.take({{0, {0, 2}}, {1, {2, 3}}, {1, {3, 4}}}, [&b](const Replica& r) {
    const Affine& module = b.modules[static_cast<std::size_t>(r.index)];
    const Tensor weight = full({}, 2.0, {.dtype = DType::f64, .device = r.device});
    if (r.rows.begin != 2) return WeightedSum{sum(module.bias * 3.0), weight};
    return WeightedSum{sum(module.weight), weight};
  });
  EXPECT_THAT(b.gradient(0), Each(DoubleNear(1.0 / 6, 1e-15)));
  EXPECT_THAT(b.gradient(1), Each(1));
}

TEST(BitwisePassTest, ADrawInALeafIsNoted) {
  Bitwise b(2);
  const auto call = b.take({{0, {0, 2}}, {1, {2, 3}}, {1, {3, 4}}}, [&b](const Replica& r) {
    context().frame->drew = r.rows.begin == 2;
    return b.loss_of(r);
  });
  EXPECT_FALSE(call->part(0).frame->drew);
  EXPECT_TRUE(call->part(1).frame->drew);
}

TEST(BitwisePassTest, OutsideGradientsAreDividedByTheWeightInPlaceOfTheRows) {
  Bitwise b(2);
  const auto call = b.take({{0, {0, 2}}, {1, {2, 4}}});
  EXPECT_DOUBLE_EQ(b.pass->outside_factor(*call), 0.4);
}

}  // namespace
}  // namespace tandem::parallel::test
