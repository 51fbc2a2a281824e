// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/reduce/gradient_snapshot.hpp"

#include <gmock/gmock.h>

#include "tandem/nn/linear.hpp"
#include "tandem/tensor/factories.hpp"

#include "devices.hpp"

namespace tandem::parallel::test {
namespace {

using ::testing::Each;

/// A layer whose weight has a gradient of twos, and whose bias has none.
class GradientSnapshotTest : public ::testing::Test {
 protected:
  GradientSnapshotTest() {
    layer_.to(testing::device(0));
    std::vector<optim::ArenaEntry> entries;
    for (const nn::NamedTensor& p : layer_.named_parameters())
      entries.push_back({p.name, p.tensor});
    arena_ = optim::Arena::obtain(std::move(entries));
    set(layer_.weight, 2);
    snapshot_.take(arena_);
  }
  static void set(const Tensor& x, double value) {
    x.set_grad(full(x.shape(), value, {.device = x.device()}));
  }

  nn::Linear layer_{3, 1};
  std::shared_ptr<optim::Arena> arena_;
  GradientSnapshot snapshot_;
};

TEST_F(GradientSnapshotTest, RestoresValuesAndWhatHadNone) {
  set(layer_.weight, 5);
  set(layer_.bias, 7);
  snapshot_.restore();
  EXPECT_THAT(layer_.weight.grad().to_doubles(), Each(2));
  EXPECT_FALSE(layer_.bias.grad().defined());
  EXPECT_THAT(arena_->gradient(0).to_doubles(), Each(2)) << "in the arena's storage";
}

TEST_F(GradientSnapshotTest, RestoresAGradientThatWasDropped) {
  layer_.weight.set_grad({});
  snapshot_.restore();
  EXPECT_THAT(layer_.weight.grad().to_doubles(), Each(2));
}

TEST_F(GradientSnapshotTest, ClearDropsWhatItHasACopyOf) {
  set(layer_.bias, 7);
  snapshot_.clear();
  EXPECT_FALSE(layer_.weight.grad().defined());
  EXPECT_THAT(layer_.bias.grad().to_doubles(), Each(7));
}

TEST_F(GradientSnapshotTest, AddsTheCopyToWhatWasMadeSince) {
  set(layer_.weight, 5);
  set(layer_.bias, 7);
  snapshot_.add();
  EXPECT_THAT(layer_.weight.grad().to_doubles(), Each(7));
  EXPECT_THAT(layer_.bias.grad().to_doubles(), Each(7));
}

TEST_F(GradientSnapshotTest, AddGivesBackWhatNoBackwardMadeAgain) {
  snapshot_.clear();
  snapshot_.add();
  EXPECT_THAT(layer_.weight.grad().to_doubles(), Each(2));
  EXPECT_FALSE(layer_.bias.grad().defined());
}

TEST_F(GradientSnapshotTest, OfNoParametersIsEmpty) {
  GradientSnapshot empty;
  empty.take(optim::Arena::none(testing::device(0)));
  set(layer_.weight, 5);
  empty.restore();
  empty.clear();
  empty.add();
  EXPECT_THAT(layer_.weight.grad().to_doubles(), Each(5));
}

}  // namespace
}  // namespace tandem::parallel::test
