// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/explain/explain.hpp"

#include <gmock/gmock.h>

#include "tandem/optim/sgd.hpp"

#include "parallel/nets.hpp"

namespace tandem::parallel::test {
namespace {

using profile::Link;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::vector<std::string> titles(const Explanation& e) {
  std::vector<std::string> titles;
  for (const ExplainedStep& step : e.steps)
    titles.push_back(step.title);
  return titles;
}

const ExplainedStep& find(const Explanation& e, Phase phase, std::optional<Category> traffic) {
  for (const ExplainedStep& step : e.steps) {
    if (step.phase == phase && step.traffic == traffic) return step;
  }
  throw std::runtime_error(std::string("no such step: ") + name(phase) + "\n" + e.text());
}

struct ExplainTest : ::testing::Test {
  Mlp net;
  optim::SGD optimizer{net.named_parameters(), {.lr = 0.1}};
  DataParallel<Mlp> dp{net, {.devices = devices(3), .mode = Mode::server, .gpu0_bsz = 2}};
  const Batch batch = make_batch(10, 1, DType::f64, false);
  std::string device(int i) const { return testing::device_name(i); }
};

TEST(ExplainedTimeTest, WhoIsFirstInACollectiveWaits) {
  using std::chrono::microseconds;
  const Device a{DeviceType::cpu, 0}, b{DeviceType::cpu, 1}, c{DeviceType::cpu, 2};
  profile::StepRecord record;
  const auto work = [&](Device device, Work::Kind kind, int begin, int end) {
    profile::WorkSpan w{};
    w.device = device;
    w.phase = Phase::reduce;
    w.name = "work";
    w.kind = kind;
    w.begin = w.queued_begin = microseconds(begin);
    w.end = w.queued_end = microseconds(end);
    record.work.push_back(w);
  };
  const auto transfer = [&](Device source, Device destination, int begin, int end) {
    const profile::Duration from = microseconds(begin), to = microseconds(end);
    record.transfers.push_back(
        {source, destination, Category::gradient, Phase::reduce, 8, from, to, from, to});
  };
  work(a, Work::Kind::collective, 0, 10);
  work(b, Work::Kind::collective, 6, 10);
  work(c, Work::Kind::barrier, 0, 5);
  work(c, Work::Kind::collective, 1, 4);  // within it: as one of several that are given at once
  work(c, Work::Kind::elementwise, 5, 9);
  transfer(a, b, 7, 9);
  transfer(b, a, 8, 10);
  transfer(b, c, 1, 2);
  const Explanation e = explain(record);
  EXPECT_THAT(e.text(), StartsWith("On cpu:0..2: ")) << "the record does not tell rows";
  ASSERT_EQ(e.devices.size(), 3U);
  EXPECT_EQ(e.devices[0].in_collectives, microseconds(10));
  EXPECT_EQ(e.devices[0].waiting, microseconds(7));
  EXPECT_EQ(e.devices[1].waiting, microseconds(1));
  EXPECT_EQ(e.devices[2].in_collectives, microseconds(5));
  EXPECT_EQ(e.devices[2].waiting, microseconds(4));
}

TEST_F(ExplainTest, AStepWithTheLossInTheReplica) {
  const Explanation e = explain([&] { dp.step(batch, kLoss, &optimizer); });
  EXPECT_THAT(titles(e),
              ElementsAre("Replicate",
                          "Scatter",
                          "Forward",
                          "Loss",
                          "Weigh",
                          "Backward",
                          "Reduce",
                          "Vote",
                          "Update"))
      << e.text();
  const ExplainedStep& replicate = find(e, Phase::replicate, Category::parameter);
  EXPECT_EQ(replicate.sentence,
            "the parameters go from " + device(0) + " to " + device(1) + " and " + device(2) +
                ", " + format_nbytes(dp.parameter_nbytes()) + " to each" +
                (testing::on_gpus() ? ", by copies" : ""));
  const ExplainedStep& scatter = find(e, Phase::scatter, Category::input);
  EXPECT_EQ(scatter.links.size(), 2u);
  EXPECT_EQ(scatter.links[0].nbytes, 4u * (12 * 8 + 8));
  const ExplainedStep& forward = find(e, Phase::forward, std::nullopt);
  EXPECT_THAT(forward.sentence, HasSubstr(device(0) + "..2"));
  EXPECT_EQ(forward.devices.size(), 3u);
  for (const DeviceShare& d : forward.devices)
    EXPECT_GE(d.works, 3u) << "two layers and a tanh";
  EXPECT_THAT(find(e, Phase::reduce, Category::gradient).sentence,
              HasSubstr("in 1 bucket, after backward"));
  EXPECT_EQ(find(e, Phase::update, std::nullopt).devices.size(), 1u);
}

TEST_F(ExplainTest, AStepWithTheLossOnTheOutputs) {
  const Explanation e = explain([&] {
    cross_entropy(dp(batch.x), batch.labels).backward();
    optimizer.step();
  });
  EXPECT_THAT(titles(e),
              ElementsAre("Replicate",
                          "Scatter",
                          "Forward",
                          "Vote",
                          "Gather",
                          "Loss",
                          "Backward",
                          "Scatter",
                          "Backward",
                          "Reduce",
                          "Update"))
      << e.text();
  EXPECT_EQ(find(e, Phase::loss, std::nullopt).sentence,
            "the loss is computed from the outputs, on " + device(0));
}

TEST_F(ExplainTest, ClassicIsTheTextbooksTenSteps) {
  Mlp other;
  optim::SGD sgd(other.named_parameters(), {.lr = 0.1});
  DataParallel classic(other, {.devices = devices(2), .mode = Mode::classic});
  const Explanation e = explain([&] {
    cross_entropy(classic(batch.x), batch.labels).backward();
    sgd.step();
  });
  std::vector<std::string> ten = titles(e);
  std::erase(ten, "Vote");  // which the textbook does not have
  EXPECT_THAT(ten,
              ElementsAre("Replicate",
                          "Scatter",
                          "Forward",
                          "Gather",
                          "Loss",
                          "Backward",
                          "Scatter",
                          "Backward",
                          "Reduce",
                          "Update"))
      << e.text();
  EXPECT_THAT(find(e, Phase::reduce, Category::gradient).sentence, HasSubstr("after backward"));
}

TEST_F(ExplainTest, ShardsAreExchangedAmongAll) {
  Mlp other;
  optim::SGD sgd(other.named_parameters(), {.lr = 0.1});
  DataParallel sharded(other, {.devices = devices(3), .mode = Mode::sharded});
  sharded.step(batch, kLoss, &sgd);
  const Explanation e = explain([&] { sharded.step(batch, kLoss, &sgd); });
  EXPECT_EQ(titles(e).front(), "Scatter") << "the parameters are there, or on their way";
  EXPECT_THAT(find(e, Phase::reduce, Category::gradient).sentence, HasSubstr("among"));
  EXPECT_EQ(find(e, Phase::update, std::nullopt).devices.size(), 3u);
  EXPECT_THAT(find(e, Phase::update, Category::parameter).sentence, HasSubstr("among"));
}

// On the host a device waits for all values within the update; a GPU's stream in the next forward.
TEST_F(ExplainTest, WaitingForParametersOfTheStepBeforeIsNotTakenForItsBuffers) {
  NormMlp other;
  optim::SGD sgd(other.named_parameters(), {.lr = 0.1});
  DataParallel sharded(other, {.devices = devices(2), .mode = Mode::sharded});
  sharded.step(batch, kLoss, &sgd);
  for (auto& [name, buffer] : other.named_buffers())
    if (is_float(buffer.dtype())) buffer.fill_(0.5);  // so that they go out
  const Explanation e = explain([&] { sharded.step(batch, kLoss, &sgd); });
  std::size_t calls = 0;
  for (const DeviceShare& d : find(e, Phase::replicate, Category::buffer).devices)
    calls += d.calls;
  const auto waits = std::ranges::count_if(e.steps, [](const ExplainedStep& step) {
    return step.phase == Phase::replicate && !step.traffic;
  });
  EXPECT_EQ(waits, testing::on_gpus() ? 1 : 0) << e.text();
  EXPECT_EQ(calls % 4, 0U) << "a start and an end on each device: " << e.text();
}

TEST_F(ExplainTest, WhatDidNotHappenIsNotThere) {
  dp.step(batch, kLoss);
  const Explanation again = explain([&] { dp.step(batch, kLoss); });
  EXPECT_THAT(again.text(), Not(HasSubstr("parameters go"))) << "they had not changed";
  EXPECT_THAT(again.text(), Not(HasSubstr("Update")));
  const Explanation nothing = explain([] {});
  EXPECT_TRUE(nothing.steps.empty());
  EXPECT_THAT(nothing.text(), HasSubstr("0 rows on no device"));
}

TEST_F(ExplainTest, RowsAndBytesAreThoseOfTheRecord) {
  const auto record = profile::record([&] { dp.step(batch, kLoss, &optimizer); });
  const Explanation e = explain(record);
  ASSERT_EQ(e.devices.size(), 3u);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(e.devices[static_cast<std::size_t>(i)].rows,
              dp.plan(10)[static_cast<std::size_t>(i)]);
  std::map<Link, std::size_t> by_step, by_link;
  for (const ExplainedStep& step : e.steps) {
    for (const LinkShare& share : step.links)
      by_step[share.link] += share.nbytes;
  }
  for (const auto& [link, traffic] : e.links)
    by_link[link] = traffic.nbytes;
  EXPECT_EQ(by_step, by_link);
  EXPECT_EQ(by_link.size(), 4u);
  std::size_t works = 0;
  for (const ExplainedStep& step : e.steps) {
    EXPECT_LE(step.begin, step.end) << step.title;
    EXPECT_LE(step.end, e.duration) << step.title;
    for (const DeviceShare& share : step.devices)
      works += share.works + share.calls;
  }
  EXPECT_EQ(works, record.work.size());
  EXPECT_TRUE(e.complete);
}

TEST_F(ExplainTest, BatchNormsStatisticsAreNamed) {
  NormMlp with_norm;
  DataParallel norm_dp(with_norm, {.devices = devices(2), .mode = Mode::server});
  const Explanation e = explain([&] { norm_dp.step(batch, kLoss); });
  EXPECT_THAT(find(e, Phase::forward, Category::activation).sentence,
              HasSubstr("among " + device(0) + " and " + device(1)));
  EXPECT_THAT(find(e, Phase::replicate, Category::buffer).sentence, HasSubstr("the buffers go"));
}

TEST_F(ExplainTest, BucketsAreCounted) {
  DataParallelOptions options{.devices = devices(2), .mode = Mode::server};
  options.exchange.first_bucket_nbytes = options.exchange.bucket_nbytes = 1;
  Mlp other;
  DataParallel many(other, options);
  const Explanation e = explain([&] { many.step(batch, kLoss); });
  EXPECT_THAT(find(e, Phase::reduce, Category::gradient).sentence, HasSubstr("in 4 buckets, "));
  EXPECT_EQ(find(e, Phase::reduce, Category::gradient).links[0].transfers, 4u);
}

TEST_F(ExplainTest, TheCallersOwnThreadIsExplainedToo) {
  Mlp alone;
  const Explanation e = explain([&] {
    cross_entropy(alone(batch.x), batch.labels).backward();
    optim::SGD(alone.named_parameters(), {.lr = 0.1}).step();
  });
  EXPECT_EQ(titles(e).front(), "Forward");
  EXPECT_EQ(titles(e).back(), "Update");
  EXPECT_TRUE(e.links.empty());
}

}  // namespace
}  // namespace tandem::parallel::test
