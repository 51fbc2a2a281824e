// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "sim/step/task_graph.hpp"

#include <gmock/gmock.h>

#include "tandem/core/error.hpp"

namespace tandem::sim {
namespace {

constexpr double kHalfSpeed = 0.5;

Task fixed(int lane, double seconds, std::vector<int> after = {}) {
  return {.lanes = {lane}, .after = std::move(after), .seconds = seconds};
}
Task kernel(int lane, int gpu, double seconds) {
  return {.kind = Task::Kind::kernel, .lanes = {lane}, .seconds = seconds, .gpus = {gpu}};
}
/// Over a link of 10 bytes/s with a latency of a second.
Task transfer(int lane, double nbytes, const char* link, std::vector<int> after = {}) {
  return {.kind = Task::Kind::transfer,
          .lanes = {lane},
          .after = std::move(after),
          .nbytes = nbytes,
          .path = {.parts = {{link, 10, 1}}}};
}

TEST(TaskGraph, ALaneRunsItsTasksInTheirOrder) {
  TaskGraph graph;
  const int a = graph.add_lane(), b = graph.add_lane();
  const int first = graph.add(fixed(a, 2));
  const int other = graph.add(fixed(b, 3));
  const int second = graph.add(fixed(a, 1, {other}));
  const int third = graph.add(fixed(a, 1));
  run(graph, 0, 1);
  EXPECT_EQ(graph.task(first).end, 2);
  EXPECT_EQ(graph.task(second).reached, 2) << "its turn";
  EXPECT_EQ(graph.task(second).begin, 3) << "after the other lane's";
  EXPECT_EQ(graph.task(third).begin, 4) << "though it waits for nothing else";
  EXPECT_EQ(graph.task(third).end, 5);
}

TEST(TaskGraph, ALaneIsServedInTheOrderOfTheCalls) {
  TaskGraph graph;
  const int host = graph.add_lane(), other = graph.add_lane(), stream = graph.add_lane();
  const int late = graph.add(fixed(host, 3));
  const int early = graph.add(fixed(other, 1));
  const int first_added = graph.add({.lanes = {stream}, .called = {late}, .seconds = 5});
  const int first_called = graph.add({.lanes = {stream}, .called = {early}, .seconds = 5});
  run(graph, 0, 1);
  EXPECT_EQ(graph.task(first_called).begin, 1);
  EXPECT_EQ(graph.task(first_added).begin, 6);
}

TEST(TaskGraph, ACollectiveBeginsWhenAllItsLanesHaveComeToIt) {
  TaskGraph graph;
  const int a = graph.add_lane(), b = graph.add_lane();
  graph.add(fixed(a, 5));
  graph.add(fixed(b, 2));
  const int c =
      graph.add({.kind = Task::Kind::collective, .lanes = {a, b}, .seconds = 4, .gpus = {0, 1}});
  run(graph, 2, 1);
  EXPECT_EQ(graph.task(c).begin, 5);
  EXPECT_EQ(graph.task(c).end, 9);
}

TEST(TaskGraph, KernelsAreSlowerBesideACollectiveOfTheirGpu) {
  TaskGraph graph;
  const int work = graph.add_lane(), other = graph.add_lane(), side = graph.add_lane();
  const int here = graph.add(kernel(work, 0, 10));
  const int there = graph.add(kernel(other, 1, 10));
  graph.add(fixed(side, 4));
  graph.add({.kind = Task::Kind::collective, .lanes = {side}, .seconds = 6, .gpus = {0}});
  run(graph, 2, kHalfSpeed);
  // 4 s at full speed, 6 s at half of it, and the 3 s that are left.
  EXPECT_DOUBLE_EQ(graph.task(here).end, 13);
  EXPECT_DOUBLE_EQ(graph.task(there).end, 10);
}

TEST(TaskGraph, ACollectiveLastsAsLongAsWhatRunsDuringIt) {
  TaskGraph graph;
  const int work = graph.add_lane(), side = graph.add_lane();
  const int beside = graph.add(kernel(work, 0, 10));
  graph.add(fixed(side, 4));
  const int c = graph.add({.kind = Task::Kind::collective, .lanes = {side}, .gpus = {0}});
  const int next = graph.add({.kind = Task::Kind::collective, .lanes = {side}, .gpus = {0}});
  Task moved{.kind = Task::Kind::transfer, .nbytes = 20, .path = {.parts = {{"up", 10, 1}}}};
  moved.during = c;
  const int first = graph.add(moved);
  moved.after = {first};
  const int second = graph.add(moved);
  run(graph, 1, kHalfSpeed);
  EXPECT_DOUBLE_EQ(graph.task(first).begin, 4);
  EXPECT_DOUBLE_EQ(graph.task(second).begin, 7);
  EXPECT_DOUBLE_EQ(graph.task(c).end, 10);
  EXPECT_DOUBLE_EQ(graph.task(next).begin, 10) << "the lane is the collective's until then";
  EXPECT_DOUBLE_EQ(graph.task(beside).end, 13) << "6 s at half of the speed";
}

TEST(TaskGraph, TransfersShareALinkWhileTheyMove) {
  TaskGraph graph;
  const int a = graph.add_lane(), b = graph.add_lane(), c = graph.add_lane();
  const int first = graph.add(transfer(a, 40, "up"));
  graph.add(fixed(b, 2));
  const int second = graph.add(transfer(b, 20, "up"));
  const int apart = graph.add(transfer(c, 40, "down"));
  run(graph, 0, 1);
  // The first moves from 1 s, alone until the second moves from 3 s. Both have 20 bytes left then.
  EXPECT_DOUBLE_EQ(graph.task(first).end, 7);
  EXPECT_DOUBLE_EQ(graph.task(second).end, 7);
  EXPECT_DOUBLE_EQ(graph.task(apart).end, 5);
}

TEST(TaskGraph, ALinkThatIsLeftGoesToTheOthers) {
  TaskGraph graph;
  const int a = graph.add_lane(), b = graph.add_lane();
  const int small = graph.add(transfer(a, 10, "up"));
  const int large = graph.add(transfer(b, 40, "up"));
  run(graph, 0, 1);
  EXPECT_DOUBLE_EQ(graph.task(small).end, 3);  // 1 s of latency, 10 bytes at 5 bytes/s
  EXPECT_DOUBLE_EQ(graph.task(large).end, 6);  // the other 30 bytes at 10 bytes/s
}

/// Two lanes that come to a meeting after 2 and 5 seconds. Each waits for its end: the first lane
/// after `other` more seconds. Alone the meeting takes 6 seconds.
struct Met {
  Task meeting, next;
};
Met meet(double other) {
  TaskGraph graph;
  const int a = graph.add_lane(), b = graph.add_lane();
  const int first = graph.add(fixed(a, 2));
  const int last = graph.add(fixed(b, 5));
  const int meeting =
      graph.add({.kind = Task::Kind::meeting, .called = {first, last}, .seconds = 6, .help = 1});
  graph.add(fixed(a, other));
  graph.add(fixed(a, 0, {meeting}));
  const int next = graph.add(fixed(b, 1));
  graph.add(fixed(b, 0, {meeting}));
  run(graph, 0, 1);
  return {graph.task(meeting), graph.task(next)};
}

TEST(TaskGraph, WhoComesLastToAMeetingHoldsIt) {
  const Met met = meet(100);
  EXPECT_EQ(met.meeting.begin, 5);
  EXPECT_EQ(met.meeting.end, 11);
  EXPECT_EQ(met.next.begin, 11) << "it does nothing else meanwhile";
}

TEST(TaskGraph, WhoWaitsForAMeetingHelps) {
  EXPECT_DOUBLE_EQ(meet(1).meeting.end, 8) << "two at work, from the beginning";
  EXPECT_DOUBLE_EQ(meet(5).meeting.end, 9) << "two seconds alone, and the other four by two";
}

TEST(TaskGraph, ACircleIsTold) {
  TaskGraph graph;
  const int a = graph.add_lane(), b = graph.add_lane();
  graph.add({.lanes = {a, b}, .seconds = 1});
  graph.tasks().front().after = {1};
  graph.add(fixed(a, 1, {0}));
  EXPECT_THROW(run(graph, 0, 1), InternalError);
}

}  // namespace
}  // namespace tandem::sim
