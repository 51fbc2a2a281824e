// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/parallel/unit_policy.hpp"

#include <gmock/gmock.h>

#include "tandem/nn/models/gpt.hpp"

#include "parallel/nets.hpp"

namespace tandem::parallel::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

nn::models::Gpt small_gpt() {
  return nn::models::Gpt({.layers = 2, .width = 8, .heads = 2, .context = 5, .vocabulary = 11});
}

/// A module whose only part has all there is.
struct Shell : nn::Module {
  Mlp inner;
  Tensor forward(const Tensor& x) { return inner(x); }
  TANDEM_MODULE(Shell, inner)
};

TEST(UnitPolicyTest, TheDirectPartsAreUnits) {
  Mlp net;
  EXPECT_THAT(UnitPolicy().paths(net), ElementsAre("hidden", "head"));
  Shell shell;
  EXPECT_THAT(UnitPolicy().paths(shell), ElementsAre("inner.hidden", "inner.head"));
}

TEST(UnitPolicyTest, ByTypeByNameAndBySize) {
  auto gpt = small_gpt();
  EXPECT_THAT(UnitPolicy::by_type<nn::TransformerBlock>().paths(gpt),
              ElementsAre("blocks.0", "blocks.1"));
  EXPECT_THAT(UnitPolicy::names({"blocks.*"}).paths(gpt), ElementsAre("blocks.0", "blocks.1"));
  const auto is_first = [](const std::string& path, nn::Module&) { return path == "blocks.0"; };
  EXPECT_THAT(UnitPolicy::where(is_first).paths(gpt), ElementsAre("blocks.0"));
  Mlp net;  // hidden has more than head
  EXPECT_THAT(UnitPolicy::by_size(net.hidden.weight.nbytes()).paths(net), ElementsAre("hidden"));
}

TEST(UnitPolicyTest, AParameterIsInItsInnermostUnit) {
  const std::vector<std::string> paths{"blocks.1", "blocks.10", "blocks.1.attention"};
  EXPECT_EQ(unit_of("blocks.1.norm.weight", paths), 0);
  EXPECT_EQ(unit_of("blocks.10.norm.weight", paths), 1);
  EXPECT_EQ(unit_of("blocks.1.attention.query.weight", paths), 2);
  EXPECT_EQ(unit_of("embedding.weight", paths), 3);
}

TEST(UnitPolicyTest, WhatMatchesNothingIsRefused) {
  Mlp net;
  EXPECT_THAT([&] { UnitPolicy::by_type<nn::Conv2d>().paths(net); },
              ThrowsMessage<InvalidArgument>(HasSubstr("by_type: no part of the module")));
  EXPECT_THAT(
      [&] {
        UnitPolicy::names({"hidden", "tail"}).paths(net);
      },
      ThrowsMessage<InvalidArgument>(
          AllOf(HasSubstr("'tail' is no part"), HasSubstr("'head' (Linear)"))));
}

}  // namespace
}  // namespace tandem::parallel::test
