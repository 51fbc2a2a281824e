// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/sim/simulate.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/core/error.hpp"
#include "tandem/nn/linear.hpp"
#include "tandem/ops/activation.hpp"
#include "tandem/ops/loss.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/parallel/data_parallel.hpp"
#include "tandem/sim/collective_model.hpp"
#include "tandem/sim/path.hpp"
#include "tandem/sim/presets.hpp"
#include "tandem/tensor/factories.hpp"

#include "sim/step/record_log.hpp"

namespace tandem::sim {
namespace {

using namespace std::chrono_literals;
using parallel::DataParallel;
using parallel::Mode;
using profile::StepRecord;
using testing::gpu;
using testing::gpus;
using ::testing::HasSubstr;
using testing::kHost;
using testing::Log;
using ::testing::ThrowsMessage;
using testing::work_of;

/// A100 that launch kernels within a microsecond, and work at round rates.
Cluster machine() {
  Cluster cluster = preset("a100-80x8");
  cluster.gpus.launch = {.gpu = 0, .host = 1e-6};
  cluster.gpus.memory_bandwidth = 1e12;
  cluster.gpus.efficiency.memory = 1;
  cluster.gpus.efficiency.beside_collectives = 1;
  cluster.pcie.bandwidth = cluster.host.bandwidth = 1e10;
  cluster.host.latency = 10e-6;
  return cluster;
}

TEST(Simulate, AThreadQueuesAndTheGpuFollows) {
  Log log;
  log.work(0, gpu(0), 10);
  log.work(0, gpu(0), 5);
  log.read(0, gpu(0));
  log.work(0, gpu(0), 1);
  const StepRecord r = simulate(log.record(), machine(), gpus(1));
  EXPECT_EQ(r.work[0].queued_end, 1us);
  EXPECT_EQ(r.work[0].begin, 1us);
  EXPECT_EQ(r.work[0].end, 11us);
  EXPECT_EQ(r.work[1].queued_end, 2us) << "the thread goes on";
  EXPECT_EQ(r.work[1].begin, 11us);
  EXPECT_EQ(r.work[1].end, 16us);
  EXPECT_EQ(r.work[2].queued_begin, 26us) << "it waits for the GPU, and for the bytes";
  EXPECT_EQ(r.duration, 28us);
}

TEST(Simulate, BackwardMayBeLaunchedAtAnotherCost) {
  Log log;
  log.work(0, gpu(0), 0);
  log.work(0, gpu(0), 0);
  log.record().work[1].phase = Phase::backward;
  Cluster cluster = machine();
  EXPECT_EQ(simulate(log.record(), cluster, gpus(1)).duration, 2us);
  cluster.gpus.launch.host_backward = 4e-6;
  EXPECT_EQ(simulate(log.record(), cluster, gpus(1)).duration, 5us);
  EXPECT_EQ(parse_cluster(to_json(cluster)).gpus.launch.host_backward, 4e-6);
}

TEST(Simulate, CopiesFromTheHostRunBesideTheWork) {
  Log log;
  log.work(0, gpu(0), 30);
  log.copy(0, kHost, gpu(0), 200'000);
  log.work(0, gpu(0), 1);
  const StepRecord r = simulate(log.record(), machine(), gpus(1));
  EXPECT_EQ(r.transfers[0].begin, 2us);
  EXPECT_EQ(r.transfers[0].end, 32us) << "10 us of latency, and 20 us at 10 GB/s";
  EXPECT_EQ(r.work[1].begin, 32us) << "what comes later waits for it";
}

std::chrono::nanoseconds copy_latency(const Cluster& cluster) {
  return std::chrono::nanoseconds(std::llround(path(cluster, 0, 1).latency() * 1e9));
}

TEST(Simulate, ACopyBetweenGpusWaitsForBothWhereItsBytesAreNotKnown) {
  Log log;
  log.work(0, gpu(0), 20);
  log.work(0, gpu(1), 10);
  log.copy(0, gpu(0), gpu(1), 0);
  log.work(0, gpu(1), 1);
  log.work(0, gpu(0), 1);
  const StepRecord r = simulate(log.record(), machine(), gpus(2));
  const auto latency = copy_latency(machine());
  EXPECT_EQ(r.transfers[0].begin, 21us);
  EXPECT_EQ(r.transfers[0].end, 21us + latency);
  EXPECT_EQ(work_of(r, gpu(1), 1).begin, 21us + latency) << "what its GPU is given later waits";
  EXPECT_EQ(work_of(r, gpu(0), 1).begin, 21us) << "the other GPU has nothing to do with it";
}

TEST(Simulate, ACopyBetweenGpusRunsBesideTheWorkThatDoesNotUseItsBytes) {
  Log log;
  log.work(0, gpu(0), 5);                // sequence 1: makes the bytes
  log.work(0, gpu(0), 20);               // 2
  log.work(0, gpu(1), 50);               // 3
  log.copy(0, gpu(0), gpu(1), 300'000);  // 4
  log.work(0, gpu(1), 10);               // 5
  log.work(0, gpu(1), 1);                // 6: uses them
  log.record().uses = {{.before = 1, .user = 4}, {.before = 4, .user = 6}};
  const Cluster cluster = machine();
  const StepRecord r = simulate(log.record(), cluster, gpus(2));
  EXPECT_EQ(r.transfers[0].begin, 6us) << "when the bytes are made";
  EXPECT_EQ(r.work[2].begin, 3us);
  EXPECT_EQ(r.work[2].end, 53us);
  EXPECT_EQ(r.work[3].end, 63us) << "the copy occupies no kernel";
  EXPECT_EQ(r.work[4].begin, 63us);
  log.record().uses.front().before = profile::DataUse::kOlder;
  EXPECT_EQ(simulate(log.record(), cluster, gpus(2)).transfers[0].begin, 4us)
      << "what was there before the record is there when it is called";
  log.record().transfers[0].nbytes = 60'000'000;
  const StepRecord slow = simulate(log.record(), cluster, gpus(2));
  EXPECT_GT(slow.transfers[0].end, 200us);
  EXPECT_EQ(slow.work[3].end, 63us);
  EXPECT_EQ(slow.work[4].begin, slow.transfers[0].end) << "who uses the bytes waits for them";
}

TEST(Simulate, ASettledCollectiveIsWaitedForWhereItIsUsed) {
  Log log;
  for (const Log::Point point : {Log::Point::begin, Log::Point::settle}) {
    for (const int rank : {0, 1}) {
      if (point == Log::Point::begin) log.work(rank, gpu(rank), rank == 0 ? 10 : 50);
      log.all_reduce(rank, rank, point, 7, 64 << 20);
    }
  }
  log.work(0, gpu(0), 20);
  log.all_reduce(0, 0, Log::Point::use, 7, 64 << 20);
  log.work(0, gpu(0), 1);
  const StepRecord r = simulate(log.record(), machine(), gpus(2));
  ASSERT_EQ(r.side_work.size(), 2U);
  EXPECT_EQ(r.side_work[0].begin, 51us);
  EXPECT_EQ(work_of(r, gpu(0), 3).begin, 11us) << "the stream goes on behind the first 10 us";
  EXPECT_EQ(work_of(r, gpu(0), 5).begin, r.side_work[0].end);
}

TEST(Simulate, AThreadWithoutAGpuHasNoPart) {
  Log alone, beside;
  alone.work(0, gpu(0), 10);
  beside.work(7, kHost, 500);
  beside.job(7, JobEvent::Kind::begun, 41);  // given before the record
  beside.job(7, JobEvent::Kind::ended, 41);
  beside.work(0, gpu(0), 10);
  const StepRecord r = simulate(beside.record(), machine(), gpus(1));
  EXPECT_EQ(r.duration, simulate(alone.record(), machine(), gpus(1)).duration);
  EXPECT_EQ(r.work[0].end, 0us) << "what it did has no time";
  EXPECT_EQ(r.work[1].end, 11us);
}

TEST(Simulate, ARecordSaysOnWhichMachine) {
  Log log;
  log.work(0, gpu(0), 1);
  EXPECT_FALSE(log.record().simulated);
  Cluster cluster = machine();
  cluster.known_error = "2 % of a step";
  const StepRecord r = simulate(log.record(), cluster, gpus(1));
  ASSERT_TRUE(r.simulated);
  EXPECT_EQ(describe(*r.simulated), "simulated on 1 GPU of a100-80x8; known error: 2 % of a step");
  EXPECT_EQ(describe(profile::SimulatedMachine{.name = "mine", .gpus = 8, .known_error = ""}),
            "simulated on 8 GPUs of mine; its error is not known");
}

TEST(Simulate, AKnownErrorIsThatOfTheStepsThatWereCompared) {
  const Cluster cluster = preset("rtx3090x2");
  const auto said = [](const Cluster& c, const std::optional<StepQuestion>& question) {
    return describe_error(simulated_machine(c, 2, {.question = question}));
  };
  const std::string not_compared = "not compared with measured steps: its error is not known";
  const StepQuestion gpt2{.model = "gpt2", .dtype = "f32", .modes = {"ddp"}};
  EXPECT_EQ(said(cluster, gpt2), "known error: " + cluster.known_error);
  EXPECT_EQ(said(cluster, std::nullopt), not_compared) << "a model of one's own";
  EXPECT_EQ(said(cluster, StepQuestion{"mlp", "f32", {"ddp"}}), not_compared);
  EXPECT_EQ(said(cluster, StepQuestion{"gpt2", "bf16", {"ddp"}}), not_compared);
  EXPECT_EQ(said(cluster, StepQuestion{"gpt2", "f32", {"ddp", "dp-fully-sharded"}}), not_compared);
  EXPECT_EQ(said(parse_cluster(to_json(cluster)), gpt2), said(cluster, gpt2));
  Cluster edited = cluster;
  edited.gpus.efficiency.matmul = 0.9;
  EXPECT_EQ(said(edited, gpt2), not_compared) << "the words of a preset for other figures";
  edited.known_error = "I measured it: 1 %";
  EXPECT_EQ(said(edited, gpt2), "known error: I measured it: 1 %");
  EXPECT_EQ(said(preset("t4x4"), gpt2), "its error is not known");
}

/// Two ranks on threads of their own, the second of which has more to do before the all-reduce.
Log two_ranks(const std::vector<int>& threads) {
  Log log;
  const int caller = threads[0];
  for (const std::uint64_t job : {1, 2})
    log.job(caller, JobEvent::Kind::submitted, job);
  for (const int rank : {0, 1}) {
    const int thread = threads[static_cast<std::size_t>(rank) + 1];
    const auto job = static_cast<std::uint64_t>(rank) + 1;
    log.job(thread, JobEvent::Kind::begun, job);
    log.work(thread, gpu(rank), rank == 0 ? 10 : 50);
    log.all_reduce(thread, rank, Log::Point::begin, 7, 64 << 20);
    log.work(thread, gpu(rank), 20);
    log.all_reduce(thread, rank, Log::Point::end, 7, 64 << 20);
    log.work(thread, gpu(rank), 5);
    log.job(thread, JobEvent::Kind::ended, job);
  }
  for (const std::uint64_t job : {1, 2})
    log.job(caller, JobEvent::Kind::joined, job);
  log.work(caller, gpu(0), 1);
  return log;
}

TEST(Simulate, ACollectiveRunsBesideTheWorkFromWhenAllRanksHaveCome) {
  const Cluster cluster = machine();
  Log log = two_ranks({0, 1, 2});
  const StepRecord r = simulate(log.record(), cluster, gpus(2));
  const double model =
      CollectiveModel(cluster, 2).time(comm::Collective::Kind::all_reduce, 64 << 20).seconds;
  const auto takes = std::chrono::nanoseconds(std::llround(model * 1e9));
  // The second rank's work is queued at 1 us and done at 51 us.
  ASSERT_EQ(r.side_work.size(), 2U);
  for (const profile::SideSpan& side : r.side_work) {
    EXPECT_EQ(side.begin, 51us);
    EXPECT_NEAR(static_cast<double>((side.end - side.begin).count()),
                static_cast<double>(takes.count()),
                1);
  }
  EXPECT_EQ(work_of(r, gpu(0), 2).begin, 11us) << "the first rank's next work does not wait";
  const profile::WorkSpan& wait = work_of(r, gpu(0), 3);
  EXPECT_EQ(wait.begin, 31us) << "but the end does";
  EXPECT_EQ(wait.end, r.side_work[0].end);
  EXPECT_EQ(work_of(r, gpu(0), 4).begin, wait.end);
  EXPECT_EQ(r.work.back().begin, r.work[9].end) << "the caller's work follows both jobs";
}

TEST(Simulate, BucketsAreCopiedBesideWhatIsExchanged) {
  const Cluster cluster = machine();
  constexpr std::size_t kNbytes = 64 << 20;
  const auto nanoseconds = [](profile::Duration d) { return static_cast<double>(d.count()); };
  const double copy = 2.0 * kNbytes / 1e12 * 1e9;  // read and written
  Log log = two_ranks({0, 1, 2});
  const StepRecord views = simulate(log.record(), cluster, gpus(2));
  const StepRecord copied = simulate(log.record(), cluster, gpus(2), {.copies_buckets = true});
  ASSERT_EQ(copied.side_work.size(), 2U);
  EXPECT_NEAR(nanoseconds(copied.side_work[0].begin), 51e3 + copy, 1) << "into the bucket first";
  EXPECT_NEAR(nanoseconds(copied.duration - views.duration), 2 * copy, 2) << "and back";
  // nn.DataParallel copies in the stream of its broadcasts, and nothing back.
  for (profile::WorkSpan& span : log.record().work)
    if (span.exchange) span.name = "broadcast";
  const StepRecord plain = simulate(log.record(), cluster, gpus(2));
  const StepRecord flat = simulate(log.record(), cluster, gpus(2), {.copies_buckets = true});
  EXPECT_EQ(flat.side_work.at(0).begin, plain.side_work.at(0).begin);
  EXPECT_NEAR(nanoseconds(flat.duration - plain.duration), copy, 2);
}

TEST(Simulate, TheNumbersOfThreadsDoNotMatter) {
  Log log = two_ranks({0, 1, 2});
  const StepRecord expected = simulate(log.record(), machine(), gpus(2));
  for (const std::vector<int>& threads : {std::vector<int>{2, 1, 0}, {1, 2, 0}, {5, 9, 3}}) {
    Log other = two_ranks(threads);
    const StepRecord r = simulate(other.record(), machine(), gpus(2));
    for (std::size_t i = 0; i < r.work.size(); ++i) {
      EXPECT_EQ(r.work[i].begin, expected.work[i].begin) << i;
      EXPECT_EQ(r.work[i].end, expected.work[i].end) << i;
    }
  }
}

TEST(Simulate, RefusesWhatItCannotTime) {
  Log log = two_ranks({0, 1, 2});
  const auto refused = [&](const StepRecord& record, int n, const char* text) {
    EXPECT_THAT([&] { simulate(record, machine(), gpus(n)); },
                ThrowsMessage<InvalidArgument>(HasSubstr(text)));
  };
  refused(log.record(), 9, "9 GPUs take part, and a100-80x8 has 8");
  EXPECT_THAT(
      [&] {
        simulate(log.record(), machine(), std::vector<Device>{gpu(0), gpu(0)});
      },
      ThrowsMessage<InvalidArgument>(HasSubstr("cpu:1 is given twice")));
  StepRecord half = log.record();
  std::erase_if(half.jobs, [](const profile::JobMark& mark) {
    return mark.event.kind == JobEvent::Kind::ended;
  });
  refused(half, 2, "record whole steps");
  StepRecord torn = log.record();
  torn.complete = false;
  refused(torn, 2, "the record is not complete");
  for (const double speed : {0.0, -1.0, std::nan("")})
    EXPECT_THAT([&] { simulate(log.record(), machine(), gpus(2), {.kernel_speed = speed}); },
                ThrowsMessage<InvalidArgument>(HasSubstr("it must be above 0 and finite")));
}

struct Net : nn::Module {
  nn::Linear first{256, 1024}, second{1024, 1024}, head{1024, 10};
  Tensor forward(const Tensor& x) { return head(relu(second(relu(first(x))))); }
  TANDEM_MODULE(Net, first, second, head)
};

struct Batch {
  Tensor x, labels;
  TANDEM_FIELDS(x, labels)
};

StepRecord step_of(Mode mode, int n) {
  Net net;
  net.to(gpu(0));
  DataParallel dp(net, {.devices = gpus(n), .mode = mode});
  optim::AdamW optimizer(net.named_parameters());
  const Batch batch{randn({64 * n, 256}), randint(0, 10, {64 * n})};
  const auto loss = [](Net& x, const Batch& b) { return cross_entropy_sum(x(b.x), b.labels); };
  dp.step(batch, loss, &optimizer);
  return profile::record([&] { dp.step(batch, loss, &optimizer); });
}

TEST(SimulateAlike, ADeviceStandsForOthersThatDoTheSame) {
  Cluster cluster = preset("a100-80x8-8-nodes");
  const StepRecord two = step_of(Mode::ddp, 2);
  const auto last_ends = [](const StepRecord& r, int n) {
    profile::Duration last{};
    for (const profile::WorkSpan& span : r.work)
      if (span.device == gpu(n - 1)) last = std::max(last, span.end);
    return last;
  };
  for (const int n : {3, 8, 16}) {
    const StepRecord all = simulate(step_of(Mode::ddp, n), cluster, gpus(n));
    const StepRecord alike = simulate(two, cluster, gpus(2), {.gpus = n});
    EXPECT_EQ(alike.duration, all.duration) << n;
    EXPECT_EQ(last_ends(alike, 2), last_ends(all, n)) << n;
  }
  cluster.nodes = 128;
  EXPECT_GT(simulate(two, cluster, gpus(2), {.gpus = 1024}).duration,
            simulate(two, cluster, gpus(2), {.gpus = 16}).duration);
}

TEST(SimulateAlike, IsRefusedWhereSharesDependOnTheNumber) {
  const Cluster cluster = preset("a100-80x8");
  EXPECT_THAT([&] { simulate(step_of(Mode::sharded, 2), cluster, gpus(2), {.gpus = 4}); },
              ThrowsMessage<InvalidArgument>(HasSubstr("2 devices stand for 4 GPUs, but the step "
                                                       "has a")));
  EXPECT_THAT([&] { simulate(step_of(Mode::ddp, 2), cluster, gpus(2), {.gpus = 1}); },
              ThrowsMessage<InvalidArgument>(HasSubstr("2 devices cannot stand for 1 GPUs")));
}

class SimulateModes : public ::testing::TestWithParam<Mode> {};

TEST_P(SimulateModes, AStepTakesTheSameTimeHoweverItsThreadsRan) {
  const Cluster cluster = preset("a100-80x8");
  std::optional<profile::Duration> first;
  for (int run = 0; run < 5; ++run) {
    const StepRecord simulated = simulate(step_of(GetParam(), 3), cluster, gpus(3));
    if (!first) first = simulated.duration;
    EXPECT_EQ(simulated.duration, *first);
    EXPECT_GT(simulated.duration, 0ns);
  }
}

TEST_P(SimulateModes, NothingRunsBeforeItIsQueuedOrTwiceAtOnceOnAStream) {
  const StepRecord r = simulate(step_of(GetParam(), 2), preset("a100-80x8"), gpus(2));
  std::map<Device, std::vector<const profile::WorkSpan*>> streams;
  for (const profile::WorkSpan& span : r.work) {
    EXPECT_LE(span.queued_begin, span.queued_end);
    EXPECT_LE(span.begin, span.end);
    if (span.kind != Work::Kind::collective && span.kind != Work::Kind::barrier) {
      EXPECT_GE(span.begin, span.queued_end) << span.name;
      streams[span.device].push_back(&span);
    }
    EXPECT_LE(span.end, r.duration);
  }
  for (auto& [device, spans] : streams) {
    if (device == kHost) continue;
    std::ranges::sort(spans, {}, [](const auto* span) { return span->begin; });
    for (std::size_t i = 1; i < spans.size(); ++i)
      EXPECT_GE(spans[i]->begin, spans[i - 1]->end) << device;
  }
}

INSTANTIATE_TEST_SUITE_P(All, SimulateModes, ::testing::ValuesIn(parallel::kModes));

TEST(Simulate, ATimeThatNoRecordHoldsIsRefused) {
  Log log;
  log.work(0, gpu(0), 10);
  const SimulateOptions slow{.kernel_speed = 1e-15};  // 1e10 s
  EXPECT_THAT([&] { simulate(log.record(), machine(), gpus(1), slow); },
              ThrowsMessage<InvalidArgument>(
                  HasSubstr("something ends 1e+10 s after the step begins, and a record holds")));
  EXPECT_GT(simulate(log.record(), machine(), gpus(1), {.kernel_speed = 1e-14}).work[0].end,
            999'999'999s);
}

TEST(Simulate, ArithmeticInF64NeedsItsPeak) {
  Log log;
  log.work(0, gpu(0), 10);
  log.record().work[0].cost.dtype = DType::f64;
  Cluster cluster = machine();
  cluster.gpus.peak.f64 = std::nullopt;
  EXPECT_EQ(simulate(log.record(), cluster, gpus(1)).duration, 11us) << "it only moves bytes";
  log.record().work[0].cost.flops = 1e9;
  EXPECT_THAT(
      [&] { simulate(log.record(), cluster, gpus(1)); },
      ThrowsMessage<InvalidArgument>(
          "simulate: the step computes in f64 (work), and the description of a100-80x8 has "
          "no gpus.peak.f64, which would say how fast that is; give it, or compute in f32"));
  cluster.gpus.peak.f64 = 1e12;
  EXPECT_GT(simulate(log.record(), cluster, gpus(1)).duration, 1ms);
}

}  // namespace
}  // namespace tandem::sim
