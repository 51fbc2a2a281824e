// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// The largest batch, searched for among made-up steps and found for real ones; plans for time.

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

#include <gmock/gmock.h>

#include "tandem/nn/replicate.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/parallel/replica_error.hpp"

#include "devices.hpp"
#include "parallel/nets.hpp"
#include "thrown_text.hpp"

namespace tandem::parallel::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::thrown_text;
using Rows = std::vector<std::int64_t>;

/// Sets limits of devices, and takes them off at the end.
class LargestBatchTest : public ::testing::Test {
 protected:
  ~LargestBatchTest() override { set_limits(SIZE_MAX); }
  void set_limits(std::size_t limit) {
    for (const Device d : devices)
      logical_device(d).set_limit(limit);
  }

  std::vector<Device> devices = testing::devices(2);
};

/// Peaks of even steps, made up: fixed + per_row * rows, and more for each full `page` of rows.
struct MadeUp {
  double fixed, per_row, per_page;
  std::int64_t page;
  std::size_t limit;

  std::size_t peak(std::int64_t rows) const {
    return static_cast<std::size_t>(fixed + per_row * static_cast<double>(rows) +
                                    per_page * static_cast<double>(rows / page));
  }
  std::optional<StepProbe> operator()(std::int64_t rows) const {
    const Rows parts{rows - rows / 2, rows / 2};
    StepProbe probe{.rows = parts, .peak_bytes = {peak(parts[0]), peak(parts[1])}};
    if (probe.peak_bytes[0] > limit) return std::nullopt;
    return probe;
  }
};

TEST_F(LargestBatchTest, IsTheLastThatFits) {
  constexpr std::int64_t kMost = 3000;
  std::int64_t reached = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto any = [&](int least, int most) {
      return std::uniform_int_distribution<int>(least, most)(random);
    };
    const MadeUp step{.fixed = static_cast<double>(any(0, 5000)),
                      .per_row = static_cast<double>(any(0, 40)),
                      .per_page = static_cast<double>(any(0, 1) * any(0, 900)),
                      .page = any(1, 64),
                      .limit = static_cast<std::size_t>(any(100, 20000))};
    set_limits(step.limit);
    std::int64_t largest = 0;  // looked at one by one
    while (largest < kMost && step(largest + 1))
      ++largest;
    const LargestBatch found = detail::search_largest_batch(devices, kMost, step);
    EXPECT_EQ(found.rows, largest);
    EXPECT_EQ(found.is_largest, largest < kMost);
    EXPECT_LE(found.tries, 26) << "twice the halvings of 3000 rows, and some to get there";
    if (largest > 0) {
      EXPECT_EQ(found.step.rows[0] + found.step.rows[1], largest);
    }
    reached += largest < kMost && largest > 0;
  }
  EXPECT_GT(reached, 150);
}

TEST_F(LargestBatchTest, OnALineTakesFewTries) {
  const MadeUp step{.fixed = 1e6, .per_row = 4321, .per_page = 0, .page = 1, .limit = 400000000};
  set_limits(step.limit);
  const LargestBatch found = detail::search_largest_batch(devices, 1 << 30, step);
  EXPECT_EQ(found.rows, 2 * static_cast<std::int64_t>((4e8 - 1e6) / 4321));
  EXPECT_LE(found.tries, 12);
}

TEST_F(LargestBatchTest, NeedsALimitToReach) {
  logical_device(devices[0]).set_limit(1000);
  const auto search = [&](std::int64_t most) {
    detail::search_largest_batch(devices, most, [](std::int64_t) { return std::nullopt; });
  };
  if (devices[1].type == DeviceType::cpu) {
    EXPECT_THAT(thrown_text([&] { search(100); }),
                AllOf(HasSubstr("largest batch: " + to_string(devices[1]) + " has no limit")));
  }
  set_limits(1000);
  EXPECT_THAT(thrown_text([&] { search(0); }), HasSubstr("the most rows to try is 0"));
}

/// A network that has taken a step, on its devices.
struct MlpTraining {
  explicit MlpTraining(const DataParallelOptions& how) : dp(net, how) { step(8); }
  static Batch make(std::int64_t rows) { return make_batch(rows, 1, DType::f64, false); }
  void step(std::int64_t rows) { dp.step(make(rows), kLoss, &optimizer); }

  Mlp net;
  optim::AdamW optimizer{net.named_parameters(), {.lr = 0.01}};
  DataParallel<Mlp> dp;
};

class FoundBatchTest : public LargestBatchTest,
                       public ::testing::WithParamInterface<std::tuple<Mode, bool>> {
 protected:
  DataParallelOptions options() const {
    return {.devices = devices, .mode = std::get<0>(GetParam())};
  }
  /// A step of these rows stays within the limits.
  bool fits(const Rows& rows, std::size_t limit) {
    set_limits(SIZE_MAX);
    DataParallelOptions how = options();
    how.chunk_sizes = rows;
    MlpTraining training(how);
    set_limits(limit);
    try {
      training.step(rows[0] + rows[1]);
      return true;
    } catch (const Error&) {
      return false;
    }
  }
};

TEST_P(FoundBatchTest, FitsAndOneRowMoreDoesNot) {
  const bool planned = std::get<1>(GetParam());
  LargestBatch found;
  std::size_t limit = 60000;
  {
    DataParallelOptions how = options();
    if (planned) how.chunks = ChunkPolicy::planned();
    MlpTraining training(how);
    const Values before = values_of(training.net);
    for (const Device d : devices)
      limit = std::max(limit, 60000 + logical_device(d).memory_stats().in_use);
    set_limits(limit);
    found = training.dp.find_largest_batch(MlpTraining::make, kLoss, &training.optimizer);
    EXPECT_EQ(values_of(training.net), before) << "nothing is trained";
  }
  EXPECT_TRUE(found.is_largest);
  EXPECT_GT(found.rows, 20);
  for (const std::size_t peak : found.step.peak_bytes)
    EXPECT_LE(peak, limit);
  EXPECT_TRUE(fits(found.step.rows, limit));
  const std::int64_t more = found.rows + 1;
  for (std::int64_t first = planned ? 0 : more - more / 2; first <= more; ++first) {
    EXPECT_FALSE(fits({first, more - first}, limit)) << first;
    if (!planned) break;
  }
}

INSTANTIATE_TEST_SUITE_P(Modes,
                         FoundBatchTest,
                         ::testing::Combine(::testing::ValuesIn(kModes), ::testing::Bool()),
                         [](const auto& instance) {
                           return std::string(name(std::get<0>(instance.param))) +
                                  (std::get<1>(instance.param) ? "_planned" : "_even");
                         });

/// Takes 2 ms for a row on its devices but the last, and 6 ms there.
struct Slow : nn::Module {
  nn::Linear linear{12, 5, {.dtype = DType::f64}};
  Tensor forward(const Tensor& x) {
    const int ms = x.device() == testing::devices(3).back() ? 6 : 2;
    std::this_thread::sleep_for(ms * std::chrono::milliseconds(x.size(0)));
    return linear(x.flatten(1));
  }
  TANDEM_MODULE(Slow, linear)
};

TEST(PlannedTimeTest, GivesASlowDeviceFewerRows) {
  Slow net;
  optim::AdamW optimizer(net.named_parameters(), {.lr = 0.01});
  DataParallel<Slow> dp(
      net, {.devices = testing::devices(3), .chunks = ChunkPolicy::planned(PlanGoal::least_time)});
  EXPECT_EQ(dp.policy().describe(), "planned for time");
  const Rows rows = dp.step(make_batch(42, 1, DType::f64, false), kLoss, &optimizer).rows;
  EXPECT_EQ(rows[0] + rows[1] + rows[2], 42);
  EXPECT_LT(rows[2], rows[0]) << "18, 18 and 6 on an idle machine, where even parts are 14";
  EXPECT_LT(rows[2], rows[1]);
}

}  // namespace
}  // namespace tandem::parallel::test
