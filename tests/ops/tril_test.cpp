// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/tril.hpp"

#include <gmock/gmock.h>

#include "tandem/tensor/factories.hpp"

#include "thrown_text.hpp"

namespace tandem {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::thrown_text;

TEST(TrilTest, MasksHoldWhereTheTrianglesKeep) {
  EXPECT_THAT(tril_mask(2, 3).to_doubles(), ElementsAre(1, 0, 0, 1, 1, 0));
  EXPECT_THAT(tril_mask(2, 3, 1).to_doubles(), ElementsAre(1, 1, 0, 1, 1, 1));
  EXPECT_THAT(triu_mask(3, 2, -1).to_doubles(), ElementsAre(1, 1, 1, 1, 0, 1));
  EXPECT_EQ(tril_mask(0, 3).shape(), Shape({0, 3}));
  EXPECT_EQ(triu_mask(2, 2).dtype(), DType::boolean);
}

TEST(TrilTest, WorksOnAnyTypeAndRefusesVectors) {
  const Tensor x = arange(1, 5).reshape({2, 2});
  EXPECT_THAT(triu(x).to_host<std::int64_t>(), ElementsAre(1, 2, 0, 4));
  EXPECT_THAT(thrown_text([] { tril(ones({3})); }),
              HasSubstr("tril: needs at least two dimensions"));
}

}  // namespace
}  // namespace tandem
