// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/units/gather_order.hpp"

#include <gmock/gmock.h>

namespace tandem::parallel {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using enum GatherOrder::Pass;

TEST(GatherOrder, ForetellsWhatFollowedInTheLastPassOfItsKind) {
  GatherOrder order;
  order.begin(forward);
  for (const int block : {0, 1, 2, 1})
    EXPECT_THAT(order.note(block, 2), IsEmpty()) << "the first pass";
  order.begin(backward);
  for (const int block : {1, 0})
    EXPECT_THAT(order.note(block, 2), IsEmpty()) << "the first pass";
  order.begin(forward);
  EXPECT_THAT(order.note(0, 2), ElementsAre(1, 2));
  EXPECT_THAT(order.note(1, 2), ElementsAre(2, 1));
  EXPECT_THAT(order.note(2, 1), ElementsAre(1));
  EXPECT_THAT(order.note(1, 2), IsEmpty());
  order.begin(backward);
  EXPECT_THAT(order.note(1, 2), ElementsAre(0));
}

TEST(GatherOrder, ForetellsNothingOnceAPassDiffers) {
  GatherOrder order;
  order.begin(forward);
  for (const int block : {0, 1, 2})
    order.note(block, 1);
  order.begin(forward);
  EXPECT_THAT(order.note(1, 1), IsEmpty());
  EXPECT_THAT(order.note(1, 1), IsEmpty()) << "in its place again, after another one";
  order.begin(forward);
  EXPECT_THAT(order.note(1, 1), ElementsAre(1)) << "the order of the pass that differed";
}

TEST(GatherOrder, IsComparedByADigestOfBothPasses) {
  const auto after = [](const std::vector<int>& ahead, const std::vector<int>& back) {
    GatherOrder order;
    order.begin(forward);
    for (const int block : ahead)
      order.note(block, 1);
    order.begin(backward);
    for (const int block : back)
      order.note(block, 1);
    order.begin(forward);
    return order;
  };
  const std::int64_t digest = after({0, 1}, {1, 0}).digest();
  EXPECT_EQ(after({0, 1}, {1, 0}).digest(), digest);
  for (const GatherOrder& other :
       {after({0, 1}, {1}), after({1, 0}, {1, 0}), after({0, 1, 1}, {0}), after({0, 1}, {})})
    EXPECT_NE(other.digest(), digest);
  GatherOrder cleared = after({0, 1}, {1, 0});
  cleared.clear();
  EXPECT_EQ(cleared.digest(), GatherOrder().digest());
  EXPECT_THAT(cleared.note(0, 1), IsEmpty());
}

TEST(GatherOrder, APassThatGathersNothingIsNoPass) {
  GatherOrder order;
  order.begin(forward);
  for (const int block : {0, 1})
    order.note(block, 1);
  order.begin(backward);
  order.begin(forward);
  order.begin(forward);
  EXPECT_THAT(order.note(0, 1), ElementsAre(1));
}

}  // namespace
}  // namespace tandem::parallel
