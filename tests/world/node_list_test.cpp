// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "world/node_list.hpp"

#include <gmock/gmock.h>

#include "tandem/core/error.hpp"

#include "thrown_text.hpp"

namespace tandem::world::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::thrown_text;

TEST(NodeListTest, ExpandsRangesAsSlurmDoes) {
  EXPECT_THAT(expand_node_list("n"), ElementsAre("n"));
  EXPECT_THAT(expand_node_list("n[1-2,7]"), ElementsAre("n1", "n2", "n7"));
  EXPECT_THAT(expand_node_list("a,b[01-03]"), ElementsAre("a", "b01", "b02", "b03"));
  EXPECT_THAT(expand_node_list("r[1-2]n[08-10]x"),
              ElementsAre("r1n08x", "r1n09x", "r1n10x", "r2n08x", "r2n09x", "r2n10x"));
  EXPECT_THAT(expand_node_list("a[1],b[2]"), ElementsAre("a1", "b2"));
}

TEST(NodeListTest, RefusesWhatIsNone) {
  for (const char* list : {"",
                           "a,",
                           "n[1-2",
                           "n1-2]",
                           "n[[1]]",
                           "n[]",
                           "n[a-b]",
                           "n[3-1]",
                           "n[1-]",
                           "n[-1]",
                           "n[1-999999999]",
                           "n[1-1000][1-1000]"}) {
    SCOPED_TRACE(list);
    EXPECT_THAT(thrown_text([&] { expand_node_list(list); }), HasSubstr("as Slurm writes it"));
  }
}

}  // namespace
}  // namespace tandem::world::test
