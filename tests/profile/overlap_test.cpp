// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/profile/overlap.hpp"

#include <random>

#include <gtest/gtest.h>

namespace tandem::profile {
namespace {

using std::chrono::microseconds;

void add_transfer(StepRecord& record, int begin, int end) {
  const Duration from = microseconds(begin), to = microseconds(end);
  record.transfers.push_back({{}, {}, Category::gradient, Phase::reduce, 8, from, to, from, to});
}

void add_work(StepRecord& record, int begin, int end, const char* name = "work") {
  WorkSpan w{};
  w.name = name;
  w.begin = microseconds(begin);
  w.end = microseconds(end);
  record.work.push_back(w);
}

bool all(const WorkSpan&) {
  return true;
}

TEST(OverlapTest, MomentsCountOnceHoweverManyLinksAndDevicesAreBusy) {
  StepRecord record;
  add_transfer(record, 0, 10);
  add_transfer(record, 5, 20);
  add_transfer(record, 40, 50);
  add_work(record, 8, 12);
  add_work(record, 10, 15);
  add_work(record, 45, 60);
  const Overlap o = overlap(record, all);
  EXPECT_EQ(o.transferring, microseconds(30));
  EXPECT_EQ(o.hidden, microseconds(7 + 5));
  EXPECT_DOUBLE_EQ(o.share(), 0.4);
}

TEST(OverlapTest, WhatDoesNotCountHidesNothing) {
  StepRecord record;
  add_transfer(record, 0, 10);
  add_work(record, 0, 10, "barrier");
  add_work(record, 2, 4);
  const auto counts = [](const WorkSpan& w) { return w.name != std::string_view("barrier"); };
  EXPECT_EQ(overlap(record, counts).hidden, microseconds(2));
  EXPECT_EQ(overlap({}, all).share(), 0);
}

TEST(OverlapTest, OfSomeTransfersAlone) {
  StepRecord record;
  add_transfer(record, 0, 10);
  add_transfer(record, 20, 30);
  add_work(record, 5, 25);
  const auto late = [](const Transfer& t) { return t.begin >= microseconds(20); };
  const Overlap o = overlap(record, all, late);
  EXPECT_EQ(o.transferring, microseconds(10));
  EXPECT_EQ(o.hidden, microseconds(5));
}

// Against moment by moment.
TEST(OverlapTest, OfRandomSpans) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    const auto any = [&](int most) {
      return static_cast<int>(random() % static_cast<unsigned>(most));
    };
    StepRecord record;
    bool under_way[100] = {}, busy[100] = {};
    for (int i = any(6); i >= 0; --i) {
      const int begin = any(80), end = begin + any(20);
      add_transfer(record, begin, end);
      std::fill(under_way + begin, under_way + end, true);
    }
    for (int i = any(6); i >= 0; --i) {
      const int begin = any(80), end = begin + any(20);
      add_work(record, begin, end);
      std::fill(busy + begin, busy + end, true);
    }
    int transferring = 0, hidden = 0;
    for (int t = 0; t < 100; ++t) {
      transferring += under_way[t];
      hidden += under_way[t] && busy[t];
    }
    const Overlap o = overlap(record, all);
    EXPECT_EQ(o.transferring, microseconds(transferring)) << seed;
    EXPECT_EQ(o.hidden, microseconds(hidden)) << seed;
  }
}

}  // namespace
}  // namespace tandem::profile
