// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Schedules of the collective algorithms, carried out by a serial interpreter: every rank ends with
// the exact sum, and the closed form of the cost is what the schedule counts.

#include "tandem/comm/algorithms.hpp"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tandem/core/error.hpp"

#include "thrown_text.hpp"

namespace tandem {
namespace {

using comm::Algorithm;
using comm::algorithms;
using comm::Cost;
using comm::Problem;
using comm::Schedule;
using comm::Transfer;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::thrown_text;
using Kind = comm::Collective::Kind;
using Numbers = std::vector<std::int64_t>;

constexpr int kRankCounts[] = {1, 2, 3, 4, 7, 8};

Numbers own_values(int rank, std::int64_t count) {
  Numbers x;
  for (std::int64_t i = 0; i < count; ++i)
    x.push_back((rank + 1) * 1000 + i * (rank + 3));
  return x;
}

/// All ranks' values after the schedule: each step reads what was there before it.
std::vector<Numbers> interpret(const Schedule& schedule, std::vector<Numbers> memory) {
  for (const auto& step : schedule.steps) {
    const std::vector<Numbers> before = memory;
    for (const Transfer& t : step) {
      const Numbers& from = before[static_cast<std::size_t>(t.from)];
      Numbers& to = memory[static_cast<std::size_t>(t.to)];
      for (auto i = static_cast<std::size_t>(t.begin); i < static_cast<std::size_t>(t.end); ++i)
        to[i] = from[i] + (t.kind == Transfer::Kind::reduce ? to[i] : 0);
    }
  }
  return memory;
}

/// What each rank has to hold in the end; nothing where it does not matter.
Numbers expected_values(const Problem& p, int rank) {
  if (p.kind == Kind::reduce && rank != p.root) return {};
  if (p.kind == Kind::broadcast) return own_values(p.root, p.count);
  Numbers sum(static_cast<std::size_t>(p.count));
  for (int r = 0; r < p.ranks; ++r)
    std::ranges::transform(sum, own_values(r, p.count), sum.begin(), std::plus<>());
  return sum;
}

std::string describe(const Algorithm& a, const Problem& p) {
  return std::string(a.name()) + ' ' + comm::name(p.kind) + " ranks " + std::to_string(p.ranks) +
         " count " + std::to_string(p.count) + " root " + std::to_string(p.root) + " group " +
         std::to_string(p.group);
}

/// Calls f(algorithm, problem) for all that is not refused, with segments of `segment`.
template <class F>
void for_each_problem(const std::vector<std::int64_t>& counts, std::int64_t segment, F f) {
  for (const Algorithm* a : algorithms()) {
    for (const Kind kind : {Kind::all_reduce, Kind::broadcast, Kind::reduce}) {
      if (!a->has(kind)) continue;
      for (const int ranks : kRankCounts) {
        for (const std::int64_t count : counts) {
          for (const int group : {0, 4}) {
            Problem p{kind, ranks, count, 0, segment, group};
            p.root = kind == Kind::all_reduce ? 0 : (ranks - 1) / 2;
            if (a->refusal(p).empty()) f(*a, p);
          }
        }
      }
    }
  }
}

TEST(Algorithms, EveryRankEndsWithTheResult) {
  int problems = 0;
  for_each_problem({0, 1, 13, 100}, 16, [&](const Algorithm& a, const Problem& p) {
    ++problems;
    std::vector<Numbers> memory;
    for (int r = 0; r < p.ranks; ++r)
      memory.push_back(own_values(r, p.count));
    memory = interpret(a.schedule(p), std::move(memory));
    for (int r = 0; r < p.ranks; ++r) {
      const Numbers expected = expected_values(p, r);
      if (!expected.empty()) {
        EXPECT_EQ(memory[static_cast<std::size_t>(r)], expected) << describe(a, p) << " rank " << r;
      }
    }
  });
  EXPECT_GT(problems, 500);
}

// The ranges of a step do not overlap where one is read and the other written, but for two ranks
// that swap and reduce the same range: a backend needs no copies of what a step reads.
TEST(Algorithms, AStepReadsNothingThatItWrites) {
  for_each_problem({13, 100}, 16, [](const Algorithm& a, const Problem& p) {
    for (const auto& step : a.schedule(p).steps) {
      for (const Transfer& read : step) {
        for (const Transfer& written : step) {
          if (read.from != written.to) continue;
          const bool apart = read.end <= written.begin || written.end <= read.begin;
          const bool swap = read.to == written.from && read.begin == written.begin &&
                            read.end == written.end && read.kind == Transfer::Kind::reduce &&
                            written.kind == Transfer::Kind::reduce;
          EXPECT_TRUE(apart || swap) << describe(a, p) << ": rank " << read.from << " elements "
                                     << read.begin << " to " << read.end;
        }
      }
    }
  });
}

TEST(Algorithms, TransfersAreBetweenTwoRanksAndNotEmpty) {
  for_each_problem({0, 1, 13, 100}, 16, [](const Algorithm& a, const Problem& p) {
    for (const auto& step : a.schedule(p).steps) {
      for (const Transfer& t : step) {
        EXPECT_NE(t.from, t.to) << describe(a, p);
        EXPECT_TRUE(0 <= t.begin && t.begin < t.end && t.end <= p.count) << describe(a, p);
      }
    }
  });
}

// 1680 elements: parts for 1, 2, 3, 4, 7, 8 ranks, halves, and segments of at most 70 are all even.
TEST(Algorithms, CostIsWhatTheScheduleCounts) {
  for_each_problem({0, 1680}, 70, [](const Algorithm& a, const Problem& p) {
    const Cost cost = a.cost(p);
    const Cost counted = cost_of(a.schedule(p), p.ranks);
    EXPECT_EQ(cost.steps, counted.steps) << describe(a, p);
    EXPECT_NEAR(cost.sent, counted.sent, 1e-9) << describe(a, p);
    EXPECT_NEAR(cost.path, counted.path, 1e-9) << describe(a, p);
    EXPECT_NEAR(cost.seconds(1e-3, 1e-6), counted.seconds(1e-3, 1e-6), 1e-12) << describe(a, p);
  });
}

TEST(Algorithms, CostOfUnevenPartsIsOffByAFewElementsAStep) {
  for_each_problem({1009}, 64, [](const Algorithm& a, const Problem& p) {
    const Cost cost = a.cost(p);
    const Cost counted = cost_of(a.schedule(p), p.ranks);
    const double most = 8.0 * static_cast<double>(cost.steps);
    EXPECT_EQ(cost.steps, counted.steps) << describe(a, p);
    EXPECT_NEAR(cost.sent, counted.sent, most) << describe(a, p);
    EXPECT_NEAR(cost.path, counted.path, most) << describe(a, p);
  });
}

TEST(Algorithms, CostsOfEightRanksAreThoseOfTheLiterature) {
  const auto cost = [](const char* name, std::int64_t segment = 1 << 20, int group = 0) {
    return comm::algorithm(name).cost({Kind::all_reduce, 8, 800, 0, segment, group});
  };
  const auto expect = [](const Cost& c, std::int64_t steps, double sent, double path) {
    EXPECT_EQ(c.steps, steps);
    EXPECT_DOUBLE_EQ(c.sent, sent);
    EXPECT_DOUBLE_EQ(c.path, path);
  };
  expect(cost("direct"), 2, 1400, 1400);
  expect(cost("reduce_broadcast"), 2, 5600, 11200);
  expect(cost("halving_doubling"), 6, 1400, 1400);
  expect(cost("butterfly"), 3, 2400, 2400);
  expect(cost("ring"), 14, 1400, 1400);
  expect(cost("segmented_ring", 50), 21, 1400, 1400);
  expect(cost("binary_tree"), 6, 2400, 8000);
  expect(cost("double_binary_tree"), 6, 1600, 4000);
  expect(cost("hierarchical_ring", 1, 4), 14, 2800, 3200);
  expect(cost("torus_2d", 1, 4), 8, 1400, 1400);
  EXPECT_DOUBLE_EQ(cost("ring").seconds(10, 0.5), 14 * 10 + 1400 * 0.5);
}

// In a pipeline the bytes of the path come near those of one link, or of two for a tree.
TEST(Algorithms, SegmentsMakeAPipeline) {
  const auto path = [](const char* name, Kind kind, std::int64_t segment) {
    return comm::algorithm(name).cost({kind, 8, 80'000, 0, segment}).path;
  };
  EXPECT_DOUBLE_EQ(path("ring", Kind::broadcast, 1), 7 * 80'000);
  EXPECT_LT(path("segmented_ring", Kind::broadcast, 1000), 1.1 * 80'000);
  EXPECT_LT(path("binary_tree", Kind::all_reduce, 1000), 4.2 * 80'000);
  EXPECT_LT(path("double_binary_tree", Kind::all_reduce, 1000), 2.2 * 80'000);
}

TEST(Algorithms, RefusedRankCountsNameTheAlgorithmAndARemedy) {
  const auto text = [](const char* name, int ranks, int group = 0) {
    return thrown_text([&] {
      comm::algorithm(name).schedule({Kind::all_reduce, ranks, 10, 0, 1, group});
    });
  };
  for (const int ranks : {3, 7}) {
    EXPECT_THAT(text("butterfly", ranks),
                AllOf(HasSubstr("butterfly"),
                      HasSubstr("not " + std::to_string(ranks)),
                      HasSubstr("halving_doubling")));
  }
  for (const char* name : {"hierarchical_ring", "torus_2d"}) {
    for (const int ranks : {2, 3, 7}) {
      EXPECT_THAT(
          text(name, ranks),
          AllOf(
              HasSubstr(name), HasSubstr(std::to_string(ranks) + " ranks"), HasSubstr("use ring")));
    }
    EXPECT_THAT(text(name, 8, 3), AllOf(HasSubstr(name), HasSubstr("8 ranks"), HasSubstr("not 3")));
  }
  EXPECT_THAT(thrown_text([] {
                comm::algorithm("torus_2d").cost({Kind::broadcast, 4, 10});
              }),
              AllOf(HasSubstr("torus_2d has no broadcast"), HasSubstr("all_reduce")));
  EXPECT_THAT(thrown_text([] {
                comm::algorithm("ring").cost({Kind::reduce, 4, 10, 4});
              }),
              HasSubstr("root 4 is not one of the 4 ranks"));
}

TEST(Algorithms, AreFoundByName) {
  std::set<std::string> names;
  for (const Algorithm* a : algorithms()) {
    names.insert(a->name());
    EXPECT_EQ(&comm::algorithm(a->name()), a);
    EXPECT_TRUE(a->has(Kind::all_reduce));
  }
  EXPECT_EQ(names.size(), algorithms().size());
  EXPECT_THAT(thrown_text([] { comm::algorithm("rong"); }),
              AllOf(HasSubstr("'rong'"), HasSubstr("ring"), HasSubstr("torus_2d")));
}

// The table of docs/algorithms.md for eight ranks, "| name | steps | sent | path |".
TEST(Algorithms, ThePagesNumbersAreTheirs) {
  constexpr std::int64_t kCount = 3200;
  std::ifstream page(TANDEM_ALGORITHMS_PAGE);
  std::set<std::string> seen;
  for (std::string line; std::getline(page, line);) {
    std::istringstream words(line);
    std::string name, bar;
    double steps = 0, sent = 0, path = 0;
    words >> bar >> name >> bar >> steps >> bar >> sent >> bar >> path >> bar;
    if (!words || bar != "|") continue;
    const Cost cost = comm::algorithm(name).cost({Kind::all_reduce, 8, kCount, 0, kCount / 16});
    EXPECT_EQ(steps, static_cast<double>(cost.steps)) << name;
    EXPECT_DOUBLE_EQ(sent * kCount, cost.sent) << name;
    EXPECT_DOUBLE_EQ(path * kCount, cost.path) << name;
    seen.insert(name);
  }
  EXPECT_EQ(seen.size(), algorithms().size());
}

// Every rank is an inner node of one tree at most, so both halves share the ports.
TEST(Algorithms, InnerNodesOfOneTreeAreLeavesOfTheOther) {
  for (const int ranks : {2, 3, 4, 7, 8, 13}) {
    const Schedule schedule =
        comm::algorithm("double_binary_tree").schedule({Kind::all_reduce, ranks, 2, 0, 1});
    std::set<int> inner[2];
    for (const auto& step : schedule.steps) {
      for (const Transfer& t : step)
        if (t.kind == Transfer::Kind::reduce) inner[t.begin].insert(t.to);
    }
    for (const int rank : inner[0])
      EXPECT_EQ(inner[1].count(rank), 0u) << "rank " << rank << " of " << ranks;
  }
}

}  // namespace
}  // namespace tandem
