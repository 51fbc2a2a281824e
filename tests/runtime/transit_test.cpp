// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/transit.hpp"

#include <memory>

#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(TransitsTest, AReadWaitsForWhatComesInOnlyAndAWriteForBoth) {
  Transits transits;
  int in = 0, out = 0;
  transits.add({.begin = 0, .end = 8, .way = Transit::Way::in, .wait = [&] { ++in; }});
  transits.add({.begin = 0, .end = 8, .way = Transit::Way::out, .wait = [&] { ++out; }});
  transits.await(8, 16, Direction::write);
  EXPECT_EQ(in + out, 0);
  transits.await(0, 8, Direction::read);
  EXPECT_EQ(in, 1);
  EXPECT_EQ(out, 0);
  transits.await(0, 8, Direction::write);
  EXPECT_EQ(out, 1);
  EXPECT_FALSE(transits.any());
}

TEST(TransitsTest, ThoseThatSayThatTheyHaveEndedAreForgottenByTheNext) {
  Transits transits;
  const auto add = [&](bool has_ended) {
    const auto life = std::make_shared<int>();
    transits.add({.begin = 0,
                  .end = 8,
                  .way = Transit::Way::out,
                  .wait = [life] {},
                  .has_ended = [has_ended] { return has_ended; }});
    return std::weak_ptr(life);
  };
  const auto ended = add(true), runs = add(false);
  EXPECT_TRUE(ended.expired());
  EXPECT_FALSE(runs.expired());
}

}  // namespace
}  // namespace tandem
