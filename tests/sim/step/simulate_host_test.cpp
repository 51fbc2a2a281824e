// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <chrono>

#include <gmock/gmock.h>

#include "tandem/core/error.hpp"
#include "tandem/sim/simulate.hpp"

#include "sim/step/record_log.hpp"

namespace tandem::sim {
namespace {

using namespace std::chrono_literals;
using profile::StepRecord;
using testing::gpu;
using testing::gpus;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kHost;
using testing::Log;
using ::testing::ThrowsMessage;
using testing::work_of;

/// A host of round numbers: two cores, calls within a microsecond, copies at 10 GB/s.
Cluster two_cores() {
  Cluster cluster;
  cluster.name = "host";
  cluster.gpus.kind = GpuKind::host;
  cluster.gpus.count = 2;
  cluster.gpus.multiprocessors = 2;
  cluster.gpus.memory = 1 << 30;
  cluster.gpus.memory_bandwidth = 1e12;
  cluster.gpus.peak.f32 = 1e11;
  cluster.gpus.efficiency = {.copy = 1, .memory = 1, .matmul = 1, .beside_collectives = 0.5};
  cluster.gpus.launch = {.gpu = 100e-6, .host = 1e-6};
  cluster.gpus.products = HalfSizes{};
  cluster.pcie.bandwidth = 1e10;
  cluster.host = {.bandwidth = 1e10, .total_bandwidth = 1e10, .latency = 3e-6};
  cluster.collectives.ring = {.alpha0 = 2e-6, .efficiency = 1};
  return cluster;
}

TEST(SimulateHost, AThreadDoesTheWorkItself) {
  Log log;
  log.work(0, gpu(0), 10);
  log.work(0, gpu(1), 5);
  log.read(0, gpu(1));
  log.work(0, gpu(0), 1);
  const StepRecord r = simulate(log.record(), two_cores(), gpus(2));
  EXPECT_EQ(r.work[0].begin, 0us);
  EXPECT_EQ(r.work[0].end, 11us);
  EXPECT_EQ(r.work[0].queued_begin, r.work[0].begin) << "as on any host";
  EXPECT_EQ(r.work[1].begin, 11us) << "another device, but the same thread";
  EXPECT_EQ(r.work[2].begin, 17us) << "what it reads is there";
  EXPECT_EQ(r.duration, 19us);
}

TEST(SimulateHost, AThreadCopiesByItself) {
  Log log;
  log.work(0, gpu(0), 10);
  log.copy(0, gpu(0), gpu(1), 200'000);
  log.copy(0, kHost, gpu(1), 100'000);
  log.work(0, gpu(0), 1);
  const StepRecord r = simulate(log.record(), two_cores(), gpus(2));
  EXPECT_EQ(r.transfers[0].begin, 11us);
  EXPECT_EQ(r.transfers[0].end, 32us) << "1 us of a call, and 20 us at 10 GB/s";
  EXPECT_EQ(r.transfers[1].end, 43us);
  EXPECT_EQ(r.work[1].begin, 43us);
}

/// Two threads, with jobs of their own: work of 10 and 50 us, the beginning of an all-reduce of 1
/// MB, more work, and its end.
StepRecord two_ranks(int first_more, int second_more) {
  Log log;
  for (const std::uint64_t job : {1, 2})
    log.job(0, JobEvent::Kind::submitted, job);
  for (const int rank : {0, 1}) {
    const int thread = rank + 1;
    const auto job = static_cast<std::uint64_t>(thread);
    log.job(thread, JobEvent::Kind::begun, job);
    log.work(thread, gpu(rank), rank == 0 ? 10 : 50);
    log.all_reduce(thread, rank, Log::Point::begin, 7, 1'000'000);
    log.work(thread, gpu(rank), rank == 0 ? first_more : second_more);
    log.all_reduce(thread, rank, Log::Point::end, 7, 1'000'000);
    log.job(thread, JobEvent::Kind::ended, job);
  }
  for (const std::uint64_t job : {1, 2})
    log.job(0, JobEvent::Kind::joined, job);
  return simulate(log.record(), two_cores(), gpus(2));
}

// Jobs begin after 3 us. The first rank comes to the all-reduce at 15 us, the second at 55 us. Both
// together take 2 us, and 1 MB at 5 GB/s: the way through the memory carries both directions. Alone
// it takes 2 us and 400 us.

TEST(SimulateHost, TheLastRankDoesTheCollectiveBeforeItGoesOn) {
  const StepRecord r = two_ranks(1000, 20);
  EXPECT_EQ(work_of(r, gpu(0), 1).begin, 14us);
  EXPECT_EQ(work_of(r, gpu(0), 2).begin, 15us) << "who comes first goes on";
  EXPECT_EQ(work_of(r, gpu(0), 2).end, 1016us) << "at its own speed";
  EXPECT_EQ(work_of(r, gpu(1), 1).end, 55us);
  EXPECT_EQ(work_of(r, gpu(1), 2).begin, 55us + 402us) << "nothing runs beside it on its thread";
  EXPECT_EQ(work_of(r, gpu(1), 3).end, 457us + 21us + 1us);
  EXPECT_THAT(r.side_work, IsEmpty()) << "there are no streams beside the threads";
}

TEST(SimulateHost, RanksThatWaitHelp) {
  const StepRecord r = two_ranks(10, 0);
  EXPECT_EQ(work_of(r, gpu(0), 3).begin, 26us) << "it waits from there on";
  EXPECT_EQ(work_of(r, gpu(1), 2).begin, 55us + 202us) << "and they are two";
  EXPECT_EQ(work_of(r, gpu(0), 3).end, 258us);
}

/// As two_ranks(10, 0), but the first rank settles, and uses what it has later.
StepRecord settled(bool is_used) {
  Log log;
  log.work(1, gpu(0), 10);
  log.all_reduce(1, 0, Log::Point::begin, 7, 1'000'000);
  log.work(1, gpu(0), 10);
  log.all_reduce(1, 0, Log::Point::settle, 7, 1'000'000);
  log.work(1, gpu(0), 20);
  if (is_used) log.all_reduce(1, 0, Log::Point::use, 7, 1'000'000);
  log.work(1, gpu(0), 5);
  log.work(2, gpu(1), 50);
  log.all_reduce(2, 1, Log::Point::begin, 7, 1'000'000);
  log.all_reduce(2, 1, Log::Point::end, 7, 1'000'000);
  return simulate(log.record(), two_cores(), gpus(2));
}

TEST(SimulateHost, AThreadWaitsAndHelpsWhereItSettlesAndUsesForNothing) {
  const StepRecord r = settled(true);
  // It comes at 12 us, settles from 23 us on, and the second rank comes at 52 us.
  EXPECT_EQ(work_of(r, gpu(0), 3).begin, 23us);
  EXPECT_EQ(work_of(r, gpu(0), 3).end, 52us + 202us + 1us) << "two do the collective";
  EXPECT_EQ(work_of(r, gpu(0), 4).begin, 255us) << "unlike a GPU's stream, it waited";
  const profile::WorkSpan& use = work_of(r, gpu(0), 5);
  EXPECT_EQ(use.begin, 276us);
  EXPECT_EQ(use.end, 276us) << "it is there already";
  EXPECT_EQ(work_of(r, gpu(0), 6).end, 282us);
  EXPECT_EQ(settled(false).duration, r.duration);
}

TEST(SimulateHost, WhatBeganBeforeIsThere) {
  Log log;
  log.all_reduce(0, 0, Log::Point::settle, 7, 1'000'000);
  log.all_reduce(0, 0, Log::Point::use, 7, 1'000'000);
  EXPECT_EQ(simulate(log.record(), two_cores(), gpus(2)).duration, 1us);
}

TEST(SimulateHost, ThreadsCopyBucketsThemselves) {
  Log log;
  for (const Log::Point point : {Log::Point::begin, Log::Point::end})
    for (const int rank : {0, 1})
      log.all_reduce(rank, rank, point, 7, 1'000'000);
  const StepRecord views = simulate(log.record(), two_cores(), gpus(2));
  const StepRecord copied = simulate(log.record(), two_cores(), gpus(2), {.copies_buckets = true});
  EXPECT_EQ(copied.duration - views.duration, 4us) << "2 MB at 1 TB/s into the bucket, and back";
  for (profile::WorkSpan& span : log.record().work)
    span.name = "broadcast";
  EXPECT_EQ(simulate(log.record(), two_cores(), gpus(2), {.copies_buckets = true}).duration -
                simulate(log.record(), two_cores(), gpus(2)).duration,
            2us)
      << "into it alone";
}

TEST(SimulateHost, CollectivesGoOverNoLinksOnWhichTheyCouldBePlayed) {
  Log log;
  log.work(0, gpu(0), 10);
  EXPECT_THAT(
      [&] {
        simulate(log.record(), two_cores(), gpus(1), {.collectives = CollectiveTimes::as_run});
      },
      ThrowsMessage<InvalidArgument>(HasSubstr("the gpus of host are of kind host")));
}

TEST(SimulateHost, OneDeviceAloneHasAllCores) {
  Log log;
  log.work(0, gpu(0), 1000);
  EXPECT_EQ(simulate(log.record(), two_cores(), gpus(2)).duration, 1001us);
  EXPECT_EQ(simulate(log.record(), two_cores(), gpus(1)).duration, 601us)
      << "half of it on each core, and 100 us for sharing it";
}

}  // namespace
}  // namespace tandem::sim
