// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/reduce/gradient_tally.hpp"

#include <gmock/gmock.h>

namespace tandem::parallel::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// There are four places: 3 is bucket 0, 2 and 0 are bucket 1, and 1 does not train.
class GradientTallyTest : public ::testing::Test {
 protected:
  using Used = GradientTally::Used;

  void begin(std::int64_t backwards = 1, Used used = Used::fresh) {
    tally_.begin(backwards, used);
    tally_.begin_backward();
  }

  GradientTally tally_{4, {{0, {}, {3}}, {0, {}, {2, 0}}}};
};

TEST_F(GradientTallyTest, ABucketIsCompleteWithItsLastGradient) {
  begin();
  EXPECT_TRUE(tally_.note_made(0));
  EXPECT_FALSE(tally_.is_bucket_complete(1)) << "place 2 is missing";
  EXPECT_TRUE(tally_.note_made(2));
  EXPECT_TRUE(tally_.is_bucket_complete(1));
  EXPECT_FALSE(tally_.is_bucket_complete(0));
}

TEST_F(GradientTallyTest, AGradientIsCompletedOnce) {
  begin();
  EXPECT_TRUE(tally_.note_made(0));
  EXPECT_FALSE(tally_.note_made(0));
  EXPECT_FALSE(tally_.is_bucket_complete(1)) << "place 0 counts once";
  EXPECT_THAT(tally_.ready(), ElementsAre(0));
}

TEST_F(GradientTallyTest, APlaceThatDoesNotTrainIsNeitherMadeNorMissing) {
  begin();
  EXPECT_FALSE(tally_.note_made(1));
  EXPECT_THAT(tally_.used(), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(tally_.missing(), ElementsAre(0, 2, 3));
}

TEST_F(GradientTallyTest, OnlyTheLastBackwardCompletesButAllUse) {
  begin(2);
  EXPECT_FALSE(tally_.note_made(3));
  EXPECT_FALSE(tally_.is_complete(3));
  EXPECT_THAT(tally_.used(), ElementsAre(0, 0, 0, 1));
  tally_.begin_backward();
  EXPECT_TRUE(tally_.note_made(3));
  EXPECT_TRUE(tally_.is_complete(3));
}

TEST_F(GradientTallyTest, WhatIsCompletedWithoutABackwardIsNeitherReadyNorUsed) {
  begin();
  tally_.note_made(2);
  tally_.complete(0);
  EXPECT_TRUE(tally_.is_bucket_complete(1));
  EXPECT_THAT(tally_.missing(), ElementsAre(3));
  EXPECT_THAT(tally_.ready(), ElementsAre(2));
  EXPECT_THAT(tally_.used(), ElementsAre(0, 0, 1, 0));
}

TEST_F(GradientTallyTest, ReadyIsInTheOrderInWhichGradientsWereMade) {
  begin();
  for (const std::size_t place : {2, 3, 0})
    tally_.note_made(place);
  EXPECT_THAT(tally_.ready(), ElementsAre(2, 3, 0));
}

TEST_F(GradientTallyTest, BeginForgetsAllButWhatIsKeptAsUsed) {
  begin();
  for (const std::size_t place : {3, 0})
    tally_.note_made(place);
  begin(1, Used::kept);
  EXPECT_THAT(tally_.used(), ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(tally_.missing(), ElementsAre(0, 2, 3));
  EXPECT_THAT(tally_.ready(), IsEmpty());
  EXPECT_FALSE(tally_.is_bucket_complete(0));
  begin(2, Used::fresh);
  EXPECT_THAT(tally_.used(), ElementsAre(0, 0, 0, 0));
  EXPECT_FALSE(tally_.note_made(3)) << "the first of two backwards, whatever came before";
}

}  // namespace
}  // namespace tandem::parallel::test
