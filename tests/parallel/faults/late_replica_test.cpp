// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tandem/optim/adam.hpp"
#include "tandem/optim/grad_scaler.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/fault.hpp"

#include "devices.hpp"
#include "parallel/nets.hpp"

// Device 0 uses what the others have made of their gradients: whichever device is late, a step has
// the same bits.
namespace tandem::parallel::test {
namespace {

using namespace std::chrono_literals;
using Chunks = std::vector<std::int64_t>;

struct Case {
  Mode mode;
  Chunks rows;
};

class LateReplica : public ::testing::TestWithParam<Case> {};

/// Values and gradients after some steps with a scaled loss, in which device `late` takes its time
/// for what it does with reduced gradients. The optimizer leaves the first parameter alone, so that
/// each step adds to a gradient of the one before.
std::map<std::string, std::vector<double>> trained(const Case& how, int late) {
  manual_seed(8);
  NormMlp net;
  auto trains = net.named_parameters();
  const Tensor kept = trains.front().tensor;
  trains.erase(trains.begin());
  optim::AdamW optimizer(trains, {.lr = 0.01});
  optim::GradScaler scaler({.init_scale = 1024});
  DataParallel<NormMlp> dp(net,
                           {.devices = devices(static_cast<int>(how.rows.size())),
                            .mode = how.mode,
                            .chunk_sizes = how.rows});
  const Batch batch = make_batch(13, 2, DType::f64, false);
  const WorkFaultScope scope([late](const Work&, Device device) {
    if (device.index == late && context().phase == Phase::reduce) std::this_thread::sleep_for(1ms);
  });
  for (int step = 0; step < 3; ++step)
    dp.step(batch, kLoss, &optimizer, {.scaler = &scaler});
  auto all = values_of(net);
  all["the gradient that is kept"] = kept.grad().to_doubles();
  return all;
}

TEST_P(LateReplica, LeavesTheBitsOfAStepAlone) {
  const auto in_time = trained(GetParam(), -1);
  for (int late = 0; late < static_cast<int>(GetParam().rows.size()); ++late)
    EXPECT_EQ(trained(GetParam(), late), in_time) << "device " << late << " is late";
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Mode mode : kModes)
    for (const Chunks& rows : {Chunks{4, 9}, Chunks{1, 12, 0}})
      all.push_back({mode, rows});
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, LateReplica, ::testing::ValuesIn(cases()), [](const auto& instance) {
  return std::string(name(instance.param.mode)) + "_" + std::to_string(instance.param.rows.size()) +
         "_devices";
});

}  // namespace
}  // namespace tandem::parallel::test
