// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "core/wildcard.hpp"

#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(WildcardTest, StandsForAnyText) {
  EXPECT_TRUE(matches("*.running_*", "blocks.0.norm.running_mean"));
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("head", "head"));
  EXPECT_FALSE(matches("head", "heads"));
  EXPECT_FALSE(matches("*.weight", "weight"));
}

TEST(WildcardTest, StopsAtACharacter) {
  EXPECT_TRUE(matches("blocks.*", "blocks.10", '.'));
  EXPECT_FALSE(matches("blocks.*", "blocks.10.norm", '.'));
  EXPECT_TRUE(matches("*.*", "blocks.10", '.'));
}

}  // namespace
}  // namespace tandem
