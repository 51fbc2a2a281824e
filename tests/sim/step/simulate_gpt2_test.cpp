// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Two devices that stand for sixteen GPUs, against sixteen devices, in a step of GPT-2.

#include <cstddef>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "tandem/nn/models/gpt.hpp"
#include "tandem/ops/loss.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/parallel/data_parallel.hpp"
#include "tandem/profile/step_record.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/sim/configure.hpp"
#include "tandem/sim/presets.hpp"
#include "tandem/sim/simulate.hpp"
#include "tandem/tensor/factories.hpp"

#include "sim/restored_devices.hpp"

namespace tandem::sim {
namespace {

using nn::models::Gpt;

struct Texts {
  Tensor tokens, labels;
  TANDEM_FIELDS(tokens, labels)
};

/// What a step of GPT-2 was like, with one text on each GPU.
struct Gpt2Step {
  profile::StepRecord record;
  std::vector<Device> gpus;
  std::set<std::size_t> peaks;
};

class SimulateGpt2 : public ::testing::Test {
 protected:
  Gpt2Step step_on(int gpus) const {
    Gpt2Step step{.record = {}, .gpus = configure_cluster(cluster_, gpus).gpus, .peaks = {}};
    Gpt net(nn::models::gpt_options("gpt2"));
    net.to(step.gpus.front());
    DataParallel dp(net, {.devices = step.gpus, .mode = parallel::Mode::ddp});
    optim::AdamW optimizer(net.named_parameters());
    const Texts batch{randint(0, 50257, {gpus, 1024}), randint(0, 50257, {gpus, 1024})};
    const auto loss = [](Gpt& model, const Texts& part) {
      return cross_entropy_sum(model(part.tokens).flatten(0, 1), part.labels.flatten());
    };
    const auto take = [&] { dp.step(batch, loss, &optimizer); };
    take();
    step.record = profile::record(take);
    for (const Device d : step.gpus)
      step.peaks.insert(logical_device(d).memory_stats().peak);
    return step;
  }

  using DataParallel = parallel::DataParallel<Gpt>;
  const testing::RestoredDevices restored_;
  const Cluster cluster_ = preset("a100-80x8-8-nodes");
};

TEST_F(SimulateGpt2, TwoDevicesStandForSixteenExactly) {
  const Gpt2Step all = step_on(16), two = step_on(2);
  EXPECT_EQ(simulate(two.record, cluster_, two.gpus, {.gpus = 16}).duration,
            simulate(all.record, cluster_, all.gpus).duration);
  EXPECT_EQ(two.peaks.size(), 1U);
  EXPECT_EQ(two.peaks, all.peaks);
}

}  // namespace
}  // namespace tandem::sim
