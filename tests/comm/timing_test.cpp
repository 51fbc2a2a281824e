// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// What collectives are timed with: exact results for every kind, type and algorithm; the fit of the
// model; refusals.

#include "tandem/comm/timing.hpp"

#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tandem/runtime/runtime.hpp"

#include "devices.hpp"
#include "no_threads.hpp"
#include "thrown_text.hpp"

namespace tandem {
namespace {

using comm::AlphaBeta;
using comm::CollectiveTime;
using comm::CollectiveTimer;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::thrown_text;
using Kind = comm::Collective::Kind;

constexpr Kind kKinds[] = {
    Kind::all_reduce, Kind::broadcast, Kind::reduce, Kind::all_gather, Kind::reduce_scatter};

TEST(CollectiveTimer, ResultsAreExactForEveryKindAndType) {
  const std::vector<Device> devices = testing::devices(3);
  for (const Kind kind : kKinds) {
    for (const DType dtype :
         {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i32, DType::i64, DType::u8}) {
      CollectiveTimer timer(devices, {.kind = kind, .dtype = dtype, .iterations = 3, .warmup = 1});
      const CollectiveTime t = timer.run(1000);
      EXPECT_EQ(t.wrong, 0) << name(kind) << ' ' << dtype;
      EXPECT_LE(t.nbytes, 1000u);
      EXPECT_GT(t.nbytes, 1000u - 3 * itemsize(dtype));
      EXPECT_EQ(static_cast<std::size_t>(t.count) * itemsize(dtype), t.nbytes);
      EXPECT_GT(t.p50, 0);
      EXPECT_LE(t.p50, t.p99);
    }
  }
}

TEST(CollectiveTimer, RunsEveryAlgorithm) {
  const std::vector<Device> devices = testing::devices(4);
  for (const comm::Algorithm* a : comm::algorithms()) {
    CollectiveTimer timer(devices,
                          {.group = {.algorithm = a->name()}, .iterations = 2, .warmup = 0});
    for (const std::size_t nbytes : {std::size_t{1}, std::size_t{100'000}}) {
      const CollectiveTime t = timer.run(nbytes);
      EXPECT_EQ(t.wrong, 0) << a->name();
      EXPECT_GT(t.cost.steps, 0) << a->name();
    }
  }
}

TEST(CollectiveTimer, BandwidthsAreThoseOfNcclTests) {
  const std::vector<Device> devices = testing::devices(4);
  const auto factor = [&](Kind kind) {
    CollectiveTimer timer(devices, {.kind = kind, .iterations = 1, .warmup = 0});
    const CollectiveTime t = timer.run(4096);
    EXPECT_DOUBLE_EQ(t.algbw * t.p50, 4096);
    return t.busbw / t.algbw;
  };
  EXPECT_DOUBLE_EQ(factor(Kind::all_reduce), 1.5);
  EXPECT_DOUBLE_EQ(factor(Kind::all_gather), 0.75);
  EXPECT_DOUBLE_EQ(factor(Kind::reduce_scatter), 0.75);
  EXPECT_DOUBLE_EQ(factor(Kind::broadcast), 1);
  EXPECT_DOUBLE_EQ(factor(Kind::reduce), 1);
}

TEST(CollectiveTimer, RefusesWhatIsNotTimed) {
  const std::vector<Device> devices = testing::devices(3);
  const auto text = [&](comm::TimingOptions o) {
    return thrown_text([&] { CollectiveTimer timer(devices, o); });
  };
  EXPECT_THAT(text({.kind = Kind::barrier}), AllOf(HasSubstr("barrier"), HasSubstr("all_reduce")));
  EXPECT_THAT(text({.dtype = DType::boolean}), HasSubstr("u8"));
  EXPECT_THAT(text({.iterations = 0}), HasSubstr("iterations is 0"));
  EXPECT_THAT(text({.warmup = -1}), HasSubstr("warmup is -1"));
  EXPECT_THAT(text({.group = {.algorithm = "butterfly"}}),
              HasSubstr("butterfly needs a number of ranks that is a power of two"));
  EXPECT_THAT(text({.kind = Kind::broadcast, .group = {.algorithm = "halving_doubling"}}),
              HasSubstr("halving_doubling has no broadcast"));
  EXPECT_THAT(text({.kind = Kind::all_gather, .group = {.algorithm = "ring"}}),
              HasSubstr("ring has no all_gather"));
}

// Devices that no other test of this program uses: their threads have not started.
TEST(CollectiveTimer, AThreadThatDoesNotStartIsNamedAndNoRankHasBegun) {
  if (testing::on_gpus()) GTEST_SKIP() << "needs devices without threads";
  const std::vector<Device> devices{
      {DeviceType::cpu, 40}, {DeviceType::cpu, 41}, {DeviceType::cpu, 42}};
  CollectiveTimer timer(
      devices, {.group = {.timeout = std::chrono::seconds(5)}, .iterations = 2, .warmup = 0});
  for (const Device device : devices) {
    {
      const testing::NoThreads none;
      EXPECT_THAT(thrown_text<DeviceError>([&] { timer.run(1000); }), HasSubstr(to_string(device)));
    }
    logical_device(device).worker();
  }
  EXPECT_EQ(timer.run(1000).wrong, 0);
}

CollectiveTime at(double steps, double path, double seconds) {
  CollectiveTime t;
  t.cost = {static_cast<std::int64_t>(steps), path, path};
  t.p50 = seconds;
  return t;
}

TEST(Fit, FindsAlphaAndBetaOfExactTimes) {
  std::vector<CollectiveTime> times;
  for (const double path : {1e3, 1e5, 1e7})
    times.push_back(at(6, path, 6 * 2e-6 + path * 1e-10));
  const AlphaBeta found = comm::fit(times);
  EXPECT_NEAR(found.alpha, 2e-6, 1e-15);
  EXPECT_NEAR(found.beta, 1e-10, 1e-19);
}

TEST(Fit, IsNeverNegative) {
  const AlphaBeta falling = comm::fit(std::vector{at(2, 1e3, 5e-6), at(2, 1e6, 1e-6)});
  EXPECT_GE(falling.alpha, 0);
  EXPECT_EQ(falling.beta, 0);
  const AlphaBeta steep = comm::fit(std::vector{at(2, 1e3, 1e-9), at(2, 1e6, 1e-3)});
  EXPECT_EQ(steep.alpha, 0);
  EXPECT_GT(steep.beta, 0);
}

TEST(Fit, OfOneSizeIsBeta) {
  const AlphaBeta one = comm::fit(std::vector{at(2, 1000, 1e-6)});
  EXPECT_EQ(one.alpha, 0);
  EXPECT_NEAR(one.beta, 1e-9, 1e-18);
  const AlphaBeta none = comm::fit({});
  EXPECT_EQ(none.alpha, 0);
  EXPECT_EQ(none.beta, 0);
}

}  // namespace
}  // namespace tandem
