// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/nn/summary.hpp"

#include <gmock/gmock.h>

#include "tandem/nn/models/cnn.hpp"

#include "nn/toy.hpp"

namespace tandem::nn {
namespace {

TEST(SummaryTest, TableOfATiedAndPartlyFrozenNet) {
  toy::Net net;
  net.blocks.resize(1);
  net.blocks[0].first.requires_grad_(false);
  net.head.steps = net.embed.steps;
  EXPECT_EQ(summary(net),
            "module           type  parameters       count  bytes  trained\n"
            "(itself)         Net   scales.a (1)         1    4 B  yes\n"
            "embed            Cell  weight (2)           2   16 B  yes\n"
            "blocks.0         Twin\n"
            "blocks.0.first   Cell  weight (2)           2   16 B  no\n"
            "blocks.0.second  Cell  weight (2)           2   16 B  yes\n"
            "head             Cell  weight (2) tied      0    0 B  yes\n"
            "Net: 7 parameters (5 trained), 52 B; buffers 24 B\n");
}

TEST(SummaryTest, CountsOfTheSmallCnn) {
  // 16*9+16 + 32*16*9+32 + 128*1568+128 + 10*128+10
  const models::CnnSmall net;
  EXPECT_THAT(summary(net), ::testing::HasSubstr("CnnSmall: 206,922 parameters (206,922 trained)"));
}

}  // namespace
}  // namespace tandem::nn
