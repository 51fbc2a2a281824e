// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// A trace holds all that was recorded, and its spans nest.

#include "tandem/profile/trace.hpp"

#include <map>
#include <set>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tandem/optim/sgd.hpp"

#include "devices.hpp"
#include "parallel/nets.hpp"

namespace tandem::profile {
namespace {

using Json = nlohmann::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Pair;

StepRecord record_steps(int devices, parallel::Mode mode) {
  parallel::test::Cnn net;
  optim::SGD optimizer(net.named_parameters(), {.lr = 0.01});
  parallel::DataParallel<parallel::test::Cnn> dp(
      net, {.devices = testing::devices(devices), .mode = mode});
  const parallel::test::Batch batch = parallel::test::make_batch(9, 1, DType::f64, false);
  return record([&] {
    for (int i = 0; i < 3; ++i)
      dp.step(batch, parallel::test::kLoss, &optimizer);
  });
}

/// Spans by process and track, in the file's order.
std::map<std::pair<int, int>, std::vector<Json>> tracks_of(const Json& trace) {
  std::map<std::pair<int, int>, std::vector<Json>> tracks;
  for (const Json& e : trace["traceEvents"])
    if (e["ph"] == "X") tracks[{e["pid"], e["tid"]}].push_back(e);
  return tracks;
}

std::map<int, std::string> process_names(const Json& trace) {
  std::map<int, std::string> names;
  for (const Json& e : trace["traceEvents"])
    if (e["name"] == "process_name") names[e["pid"]] = e["args"]["name"];
  return names;
}

double end_of(const Json& span) {
  return span["ts"].get<double>() + span["dur"].get<double>();
}

TEST(TraceTest, SpansOfATrackNest) {
  for (const parallel::Mode mode : parallel::kModes) {
    const Json trace = Json::parse(trace_json(record_steps(3, mode)));
    for (auto& [track, spans] : tracks_of(trace)) {
      std::ranges::stable_sort(spans, [](const Json& a, const Json& b) {
        return std::pair(a["ts"].get<double>(), -end_of(a)) <
               std::pair(b["ts"].get<double>(), -end_of(b));
      });
      std::vector<double> open;  // ends
      for (const Json& span : spans) {
        while (!open.empty() && open.back() <= span["ts"].get<double>() + 1e-6)
          open.pop_back();
        if (!open.empty()) {
          EXPECT_LE(end_of(span), open.back() + 1e-3) << name(mode) << " " << span;
        }
        open.push_back(end_of(span));
      }
    }
  }
}

TEST(TraceTest, HasEveryPieceOfWorkAndEveryTransferOnItsTrack) {
  const StepRecord record = record_steps(2, parallel::Mode::server);
  const Json trace = Json::parse(trace_json(record));
  const auto names = process_names(trace);
  std::map<std::string, int> works;
  std::set<std::string> phases, modules;
  int transfers = 0;
  for (const auto& [track, spans] : tracks_of(trace)) {
    const std::string& process = names.at(track.first);
    for (const Json& span : spans) {
      if (process == "links")
        ++transfers;
      else if (span["cat"] == "phase")
        phases.insert(span["name"]);
      else if (span["cat"] == "module")
        modules.insert(span["name"]);
      else
        ++works[process];
    }
  }
  std::map<std::string, int> expected;
  for (const WorkSpan& w : record.work)
    expected[to_string(w.device)] += testing::on_gpus() ? 2 : 1;  // its thread's, and its stream's
  for (const SideSpan& s : record.side_work)
    ++expected[to_string(s.device)];
  EXPECT_EQ(works, expected);
  EXPECT_EQ(transfers, static_cast<int>(record.transfers.size()));
  EXPECT_GT(transfers, 0);
  for (const char* phase : {"forward", "loss", "backward", "update"})
    EXPECT_THAT(phases, Contains(phase));
  for (const char* module : {"first", "norm1", "second", "norm2", "head"})
    EXPECT_THAT(modules, Contains(module));
}

TEST(TraceTest, BucketsOfGradientsAndParametersAreNumbered) {
  for (const parallel::Mode mode : {parallel::Mode::server, parallel::Mode::sharded}) {
    parallel::test::Cnn net;
    optim::SGD optimizer(net.named_parameters(), {.lr = 0.01});
    parallel::DataParallelOptions options{.devices = testing::devices(2), .mode = mode};
    options.exchange.first_bucket_nbytes = options.exchange.bucket_nbytes = 1;
    parallel::DataParallel<parallel::test::Cnn> dp(net, options);
    const parallel::test::Batch batch = parallel::test::make_batch(9, 1, DType::f64, false);
    const auto steps = [&] {
      for (int i = 0; i < 2; ++i)
        dp.step(batch, parallel::test::kLoss, &optimizer);
    };
    const StepRecord seen = record(steps);
    std::map<std::string, std::set<int>> on_side_streams;
    for (const SideSpan& s : seen.side_work)
      if (s.bucket >= 0) on_side_streams[tandem::name(s.category.value())].insert(s.bucket);
    const Json trace = Json::parse(trace_json(seen));
    const auto names = process_names(trace);
    std::map<std::string, std::set<int>> on_links, in_work;  // by category
    for (const auto& [track, spans] : tracks_of(trace)) {
      for (const Json& span : spans) {
        if (!span["args"].contains("bucket")) continue;
        if (names.at(track.first) == "links")
          on_links[span["name"]].insert(span["args"]["bucket"].get<int>());
        else if (span["args"].contains("writes"))
          in_work[span["args"]["writes"]].insert(span["args"]["bucket"].get<int>());
      }
    }
    const int count = static_cast<int>(on_links["gradient"].size());
    EXPECT_EQ(count, static_cast<int>(net.named_parameters().size()));
    EXPECT_EQ(*on_links["gradient"].rbegin(), count - 1);
    EXPECT_EQ(on_links["parameter"], on_links["gradient"]) << name(mode);
    EXPECT_EQ(in_work, on_links) << name(mode);
    if (testing::on_gpus()) {
      EXPECT_EQ(on_side_streams, on_links) << name(mode);
    }
  }
}

TEST(TraceTest, AWorkWithinAWorkEndsNeitherPhaseNorModule) {
  const auto module = std::make_shared<const std::string>("net.conv");
  const auto work = [&](int begin, int end, const char* op) {
    WorkSpan w{};
    w.phase = Phase::forward;
    w.name = op;
    w.module_path = module;
    w.begin = w.queued_begin = std::chrono::microseconds(begin);
    w.end = w.queued_end = std::chrono::microseconds(end);
    return w;
  };
  StepRecord record;
  record.work = {work(2, 4, "inner"), work(0, 10, "outer")};  // in the order in which they ended
  std::map<std::string, double> took;
  for (const auto& [track, spans] : tracks_of(Json::parse(trace_json(record))))
    for (const Json& span : spans)
      took[span["name"]] = span["dur"];
  EXPECT_EQ(took,
            (std::map<std::string, double>{
                {"inner", 2}, {"outer", 10}, {"forward", 10}, {"net", 10}, {"conv", 10}}));
}

TEST(TraceTest, HasEveryMomentOfMemory) {
  const std::vector<Device> devices = testing::devices(2);
  StepRecord record;
  const MemoryProfile memory =
      record_memory(devices, [&] { record = record_steps(2, parallel::Mode::sharded); });
  std::map<std::string, std::vector<std::size_t>> counted, expected;
  const Json trace = Json::parse(trace_json(record, memory));
  const auto names = process_names(trace);
  for (const Json& e : trace["traceEvents"]) {
    if (e["ph"] != "C") continue;
    std::size_t sum = 0;
    for (const Json& bytes : e["args"])
      sum += bytes.get<std::size_t>();
    counted[names.at(e["pid"])].push_back(sum);
  }
  for (const DeviceMemory& m : memory.devices)
    for (const MemoryMoment& moment : m.timeline)
      expected[to_string(m.device)].push_back(moment.in_use);
  EXPECT_EQ(counted, expected);
  EXPECT_GT(counted.size(), 1U);
}

TEST(TraceTest, TransfersOfALinkThatOverlapHaveTracksOfTheirOwn) {
  StepRecord record;
  const Device a{DeviceType::cpu, 0}, b{DeviceType::cpu, 1};
  using std::chrono::microseconds;
  for (const auto& [begin, end] : {std::pair(0, 10), std::pair(5, 20), std::pair(10, 15)}) {
    const Duration from = microseconds(begin), to = microseconds(end);
    record.transfers.push_back({a, b, Category::gradient, Phase::reduce, 8, from, to, from, to});
  }
  const auto tracks = tracks_of(Json::parse(trace_json(record)));
  ASSERT_EQ(tracks.size(), 2U);
  EXPECT_EQ(tracks.begin()->second.size(), 2U) << "the first and the last";
}

TEST(TraceTest, WhatSideStreamsDoAtOnceHasTracksOfItsOwn) {
  StepRecord record;
  const Device gpu{DeviceType::cuda, 1};
  using std::chrono::microseconds;
  for (const auto& [begin, end] : {std::pair(10, 15), std::pair(0, 10), std::pair(5, 20)}) {
    record.side_work.push_back({gpu,
                                Phase::reduce,
                                "all_reduce",
                                Category::gradient,
                                microseconds(begin),
                                microseconds(end),
                                3});
  }
  const Json trace = Json::parse(trace_json(record));
  EXPECT_THAT(process_names(trace), ElementsAre(Pair(1, "cuda:1")));
  int named = 0;
  for (const Json& e : trace["traceEvents"])
    named += e["name"] == "thread_name" && e["args"]["name"] == "side stream";
  EXPECT_EQ(named, 2);
  const auto tracks = tracks_of(trace);
  ASSERT_EQ(tracks.size(), 2U);
  EXPECT_EQ(tracks.begin()->second.size(), 2U) << "the first and the last";
  const Json& first = tracks.begin()->second.front();
  EXPECT_EQ(first["name"], "all_reduce");
  EXPECT_EQ(first["cat"], "reduce");
  EXPECT_EQ(first["dur"], 10);
  EXPECT_EQ(first["args"]["writes"], "gradient");
  EXPECT_EQ(first["args"]["bucket"], 3);
}

TEST(TraceTest, ASimulatedGpuHasAStreamAndSaysOnWhatMachine) {
  StepRecord record;
  using std::chrono::microseconds;
  WorkSpan w{};
  w.device = {DeviceType::cpu, 1};
  w.name = "gemm";
  w.queued_end = microseconds(1);
  w.begin = microseconds(4);
  w.end = microseconds(9);
  record.work.push_back(w);
  record.simulated = {.name = "t4x4", .gpus = 4, .known_error = ""};
  const Json trace = Json::parse(trace_json(record));
  EXPECT_THAT(process_names(trace),
              ElementsAre(Pair(1, "cpu:1 (simulated on 4 GPUs of t4x4; its error is not known)")));
  std::vector<double> begins;
  for (const auto& [track, spans] : tracks_of(trace))
    for (const Json& span : spans)
      if (span["name"] == "gemm") begins.push_back(span["ts"]);
  EXPECT_THAT(begins, ElementsAre(0, 4)) << "of the thread, and of the stream";
}

}  // namespace
}  // namespace tandem::profile
