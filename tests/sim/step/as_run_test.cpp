// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/comm/algorithms.hpp"
#include "tandem/comm/group.hpp"
#include "tandem/core/error.hpp"
#include "tandem/nn/linear.hpp"
#include "tandem/ops/loss.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/parallel/data_parallel.hpp"
#include "tandem/sim/presets.hpp"
#include "tandem/sim/simulate.hpp"
#include "tandem/tensor/factories.hpp"

namespace tandem::sim::as_run {
namespace {

using comm::Collective;
using comm::Communicator;
using profile::StepRecord;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr std::int64_t kCount = 1 << 18;  // f32
constexpr double kNbytes = 4.0 * kCount;
constexpr SimulateOptions kAsRun{.collectives = CollectiveTimes::as_run};

std::vector<Device> devices_of(int n) {
  std::vector<Device> all;
  for (int i = 1; i <= n; ++i)
    all.push_back({DeviceType::cpu, i});
  return all;
}

/// What each rank starts with `start`, and waits for.
StepRecord record_of(int n,
                     const std::function<comm::Handle(Communicator&, const Tensor&)>& start,
                     const comm::GroupOptions& options = {}) {
  const auto ranks = comm::make_group(devices_of(n), options);
  std::vector<Tensor> own;
  for (const auto& rank : ranks)
    own.push_back(zeros({kCount}, {.device = rank->device()}));
  return profile::record([&] {
    std::vector<comm::Handle> handles;
    for (std::size_t r = 0; r < ranks.size(); ++r)
      handles.push_back(start(*ranks[r], own[r]));
    for (comm::Handle& handle : handles)
      handle.wait();
  });
}

StepRecord all_reduce(int n, const std::string& algorithm) {
  return record_of(n,
                   [](Communicator& rank, const Tensor& x) { return rank.start_all_reduce(x); },
                   {.algorithm = algorithm, .segment_bytes = 16 * 1024});
}

/// Seconds of the only collective, or of those that are coalesced.
double time_of(const StepRecord& record, const Cluster& cluster, int n) {
  const StepRecord simulated = simulate(record, cluster, devices_of(n), kAsRun);
  EXPECT_GE(simulated.side_work.size(), static_cast<std::size_t>(n)) << "more if coalesced";
  const profile::SideSpan& side = simulated.side_work.front();
  return static_cast<double>((side.end - side.begin).count()) * 1e-9;
}

constexpr double kLatency = 2.7e-6, kBandwidth = 300e9 * 0.91;  // of an A100's 12 NVLinks

/// GPUs two and two on switches, whose uplinks are narrow.
Cluster on_pcie() {
  Cluster cluster = preset("a100-80x8");
  cluster.nvlink.reset();
  cluster.pcie.peer_across_sockets = true;
  cluster.pcie.peer_latency = 5e-6;
  cluster.pcie.bandwidth = 100e9;
  cluster.pcie.socket_bandwidth = 100e9;
  cluster.pcie.uplink_bandwidth = 10e9;
  return cluster;
}

/// GPUs that reach each other through the host's memory alone.
Cluster through_the_host() {
  Cluster cluster = on_pcie();
  cluster.pcie.peer_access = false;
  cluster.pcie.peer_latency.reset();
  cluster.pcie.peer_across_sockets = false;
  cluster.pcie.uplink_bandwidth = 100e9;
  cluster.host = {.bandwidth = 10e9, .total_bandwidth = 20e9, .latency = 15e-6};
  cluster.gpus.memory_bandwidth = 1e12;
  cluster.gpus.efficiency.memory = 0.5;
  return cluster;
}

TEST(AsRun, ARingTakesItsStepsOverTheLinks) {
  for (const int n : {2, 4, 8})
    EXPECT_NEAR(time_of(all_reduce(n, "ring"), preset("a100-80x8"), n),
                2 * (n - 1) * (kLatency + kNbytes / n / kBandwidth),
                5e-9)
        << n;
}

/// Behind switches each GPU has one port, as the α-β model of comm::Algorithm says.
TEST(AsRun, EveryAlgorithmTakesWhatItsCostSaysBehindSwitches) {
  for (const comm::Algorithm* algorithm : comm::algorithms()) {
    const comm::Cost cost =
        algorithm->cost({.ranks = 8, .count = kCount, .segment = 16 * 1024 / 4});
    EXPECT_NEAR(time_of(all_reduce(8, algorithm->name()), preset("a100-80x8"), 8),
                cost.seconds(kLatency, 4 / kBandwidth),
                2e-7)
        << algorithm->name();
  }
}

TEST(AsRun, TransfersShareWhatTheyCross) {
  const StepRecord direct = all_reduce(4, "direct");
  // In a step each GPU of a switch sends a quarter to both GPUs of the other: S over each uplink.
  EXPECT_NEAR(time_of(direct, on_pcie(), 4), 2 * (5e-6 + kNbytes / 10e9), 5e-9);
  // All that is sent goes through the same memory. Then each GPU reads three quarters that came and
  // its own, and writes the sum.
  EXPECT_NEAR(time_of(direct, through_the_host(), 4),
              2 * (15e-6 + 3 * kNbytes / 20e9) + 5 * kNbytes / 4 / 0.5e12,
              5e-9);
}

/// Between the halves of a DGX-1 only GPUs i and i + 4 are joined. In their order, 3 sends to 4 and
/// 7 to 0 through the host.
TEST(AsRun, ARingFollowsTheLinksOnlyInTheRightOrder) {
  const Cluster cluster = preset("v100-16x8");
  const StepRecord ring = all_reduce(8, "ring");
  EXPECT_NEAR(time_of(ring, cluster, 8), 14 * (15e-6 + kNbytes / 8 / 8e9), 2e-5);
  const std::vector<int> order{0, 1, 2, 3, 7, 6, 5, 4};
  std::vector<Device> devices(8);
  for (std::size_t rank = 0; rank < 8; ++rank)
    devices[static_cast<std::size_t>(order[rank])] = devices_of(8)[rank];
  const StepRecord played = simulate(ring, cluster, devices, kAsRun);
  const profile::SideSpan& side = played.side_work.front();
  EXPECT_NEAR(static_cast<double>((side.end - side.begin).count()) * 1e-9,
              14 * (2.7e-6 + kNbytes / 8 / (25e9 * 0.9)),
              5e-9);
}

TEST(AsRun, WhatHasNoScheduleTakesOneStep) {
  const StepRecord gather = record_of(4, [](Communicator& rank, const Tensor& x) {
    return rank.start_all_gather(x.narrow(0, rank.rank() * kCount / 4, kCount / 4), x);
  });
  EXPECT_NEAR(
      time_of(gather, preset("a100-80x8"), 4), kLatency + 3 * kNbytes / 4 / kBandwidth, 5e-9);
}

TEST(AsRun, CoalescedCollectivesFollowEachOtherUnlessTheyAreDirect) {
  const auto two = [](Communicator& rank, const Tensor& x) {
    return rank.start_coalesced({Collective::all_reduce(x.narrow(0, 0, kCount / 2)),
                                 Collective::all_reduce(x.narrow(0, kCount / 2, kCount / 2))});
  };
  const auto time = [&](const char* algorithm) {
    const StepRecord r = simulate(
        record_of(2, two, {.algorithm = algorithm}), preset("a100-80x8"), devices_of(2), kAsRun);
    return static_cast<double>((r.side_work.front().end - r.side_work.front().begin).count());
  };
  EXPECT_NEAR(time_of(record_of(4, two), through_the_host(), 4),
              time_of(all_reduce(4, "direct"), through_the_host(), 4),
              5e-9)
      << "their sums too take what that of one array takes";
  EXPECT_NEAR(time("direct"), (2 * kLatency + kNbytes / kBandwidth) * 1e9, 5);
  EXPECT_NEAR(time("ring"), (4 * kLatency + kNbytes / kBandwidth) * 1e9, 5);
}

TEST(AsRun, ATransferHasItsOwnTimes) {
  const StepRecord record = all_reduce(3, "reduce_broadcast");
  const StepRecord r = simulate(record, preset("a100-80x8"), devices_of(3), kAsRun);
  const profile::SideSpan& whole = r.side_work.front();
  std::map<profile::Link, const profile::Transfer*> links;
  for (const profile::Transfer& moved : r.transfers)
    links[{moved.source, moved.destination}] = &moved;
  ASSERT_EQ(links.size(), 4U);
  const Device root = devices_of(1)[0];
  for (const auto& [link, moved] : links) {
    const bool goes_up = link.destination == root;
    EXPECT_EQ(goes_up, moved->begin == whole.begin);
    EXPECT_EQ(goes_up, moved->end != whole.end);
    EXPECT_NEAR(static_cast<double>((moved->end - moved->begin).count()),
                (kLatency + 2 * kNbytes / kBandwidth) * 1e9,
                2)
        << "two transfers share the root's port";
  }
  for (const profile::Transfer& moved :
       simulate(record, preset("a100-80x8"), devices_of(3)).transfers)
    EXPECT_EQ(moved.begin, moved.queued_begin) << "the library's are those of the collective";
}

TEST(AsRun, ARootCopiesItsBucketBeforeTheFirstStep) {
  Cluster cluster = preset("a100-80x8");
  cluster.gpus.launch.gpu = 0;
  cluster.gpus.memory_bandwidth = 1e12;
  cluster.gpus.efficiency.memory = 0.5;
  const StepRecord record =
      record_of(3, [](Communicator& rank, const Tensor& x) { return rank.start_broadcast(x, 1); });
  const StepRecord plain = simulate(record, cluster, devices_of(3), kAsRun);
  SimulateOptions options = kAsRun;
  options.copies_buckets = true;
  const StepRecord copied = simulate(record, cluster, devices_of(3), options);
  const double copy = 2 * kNbytes / 0.5e12 * 1e9;
  const profile::SideSpan& before = plain.side_work.front();
  const profile::SideSpan& whole = copied.side_work.front();
  EXPECT_EQ(whole.begin, before.begin);
  EXPECT_NEAR(static_cast<double>((whole.end - before.end).count()), copy, 1);
  for (std::size_t i = 0; i < 2; ++i) {
    const profile::Transfer& moved = copied.transfers.at(i);
    EXPECT_EQ(moved.source, devices_of(3)[1]) << "the root, which is not rank 0";
    EXPECT_NEAR(static_cast<double>((moved.begin - whole.begin).count()), copy, 1);
  }
}

TEST(AsRun, NeedsADeviceForEachGpuAndAllRanks) {
  const StepRecord record = all_reduce(4, "ring");
  EXPECT_THAT(
      [&] {
        simulate(record,
                 preset("a100-80x8"),
                 devices_of(4),
                 {.gpus = 8, .collectives = CollectiveTimes::as_run});
      },
      ThrowsMessage<InvalidArgument>(HasSubstr("4 devices stand for 8 GPUs, and collectives as_run "
                                               "need what each GPU sends; give as many devices")));
  EXPECT_THAT(
      [&] { simulate(record, preset("a100-80x8"), devices_of(3), kAsRun); },
      ThrowsMessage<InvalidArgument>(HasSubstr("1 of the 4 ranks of a collective (all_reduce)")));
}

TEST(AsRun, TheRecordSaysSo) {
  const StepRecord record = all_reduce(2, "ring");
  Cluster cluster = preset("a100-80x8");
  const StepRecord played = simulate(record, cluster, devices_of(2), kAsRun);
  EXPECT_EQ(describe(*played.simulated),
            "simulated on 2 GPUs of a100-80x8, collectives as run; its error is not known");
  EXPECT_THAT(describe(*simulate(record, cluster, devices_of(2)).simulated),
              HasSubstr("known error: "));
}

struct SmallNet : nn::Module {
  nn::Linear first{64, 64}, head{64, 10};
  Tensor forward(const Tensor& x) { return head(first(x)); }
  TANDEM_MODULE(SmallNet, first, head)
};

struct Rows {
  Tensor x, labels;
  TANDEM_FIELDS(x, labels)
};

profile::Duration in_collectives(const StepRecord& record) {
  profile::Duration sum{};
  for (const profile::SideSpan& side : record.side_work)
    sum += side.end - side.begin;
  return sum;
}

class AsRunModes : public ::testing::TestWithParam<parallel::Mode> {};

TEST_P(AsRunModes, AStepTakesTheSameTimeHoweverItsThreadsRan) {
  std::optional<profile::Duration> first;
  for (int run = 0; run < 5; ++run) {
    SmallNet net;
    net.to(devices_of(1)[0]);
    parallel::DataParallel dp(net, {.devices = devices_of(3), .mode = GetParam()});
    optim::AdamW optimizer(net.named_parameters());
    const Rows batch{randn({12, 64}), randint(0, 10, {12})};
    const auto loss = [](SmallNet& x, const Rows& b) {
      return cross_entropy_sum(x(b.x), b.labels);
    };
    dp.step(batch, loss, &optimizer);
    const StepRecord record = profile::record([&] { dp.step(batch, loss, &optimizer); });
    const StepRecord played = simulate(record, preset("v100-16x8"), devices_of(3), kAsRun);
    if (!first) first = played.duration;
    EXPECT_EQ(played.duration, *first);
    EXPECT_NE(in_collectives(played),
              in_collectives(simulate(record, preset("v100-16x8"), devices_of(3))));
  }
}

INSTANTIATE_TEST_SUITE_P(All, AsRunModes, ::testing::ValuesIn(parallel::kModes));

}  // namespace
}  // namespace tandem::sim::as_run
