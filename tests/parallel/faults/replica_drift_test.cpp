// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/parallel/replica_drift.hpp"

#include <optional>

#include <gmock/gmock.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/optim/sgd.hpp"
#include "tandem/parallel/replica_error.hpp"

#include "devices.hpp"
#include "parallel/nets.hpp"
#include "thrown_text.hpp"

// A replica whose values are no longer device 0's.
namespace tandem::parallel::test {
namespace {

using tandem::testing::thrown_text;
using ::testing::HasSubstr;

/// Changes the last element behind the wrapper's back.
void corrupt(const Tensor& x) {
  const autograd::NoGrad off;
  x.detach().reshape({-1}).narrow(0, x.numel() - 1, 1).mul_(1 + 1e-15);
}

class DriftTest : public ::testing::TestWithParam<Mode> {
 protected:
  /// The drift that a step finds.
  template <class Loss>
  std::optional<ReplicaDrift> step(Loss loss) {
    try {
      dp.step(batch, loss, &optimizer);
    } catch (const ReplicaError& e) {
      const auto* drift = find_cause<ReplicaDrift>(e);
      EXPECT_NE(drift, nullptr) << e.what();
      if (drift == nullptr) return std::nullopt;
      EXPECT_EQ(e.device, drift->device());
      EXPECT_THAT(e.what(), HasSubstr("'" + drift->tensor() + "' on " + testing::device_name(2)));
      return *drift;
    }
    return std::nullopt;
  }
  /// A loss before which one replica's weight loses a bit.
  static auto corrupting(int replica) {
    return [replica](Cnn& m, const Batch& b) {
      if (context().replica == replica) corrupt(m.second.weight);
      return cross_entropy_sum(m(b.x), b.labels);
    };
  }

  Cnn net;
  optim::SGD optimizer{net.named_parameters(), {.lr = 0.1}};
  DataParallel<Cnn> dp{
      net,
      {.devices = devices(3), .mode = GetParam(), .gpu0_bsz = 2, .checks = {.drift_every = 3}}};
  Batch batch = make_batch(9, 1, DType::f64, false);
};

TEST_P(DriftTest, ReplicasThatFollowPassForAWhile) {
  for (int i = 0; i < 9; ++i)
    EXPECT_FALSE(step(kLoss).has_value()) << i;
}

TEST_P(DriftTest, NamesTheTensorTheDeviceAndTheStep) {
  EXPECT_FALSE(step(corrupting(2)).has_value()) << "this is not a step that looks";
  EXPECT_FALSE(step(kLoss).has_value());
  optimizer.zero_grad();
  const Values before = values_of(net);
  const auto drift = step(corrupting(2));
  ASSERT_TRUE(drift.has_value());
  EXPECT_EQ(drift->tensor(), "second.weight");
  EXPECT_EQ(drift->device(), testing::device(2));
  EXPECT_EQ(drift->step(), 3);
  EXPECT_EQ(values_of(net), before) << "the step has no effect";
  EXPECT_FALSE(step(kLoss).has_value()) << "the replica has got the values anew";
}

TEST_P(DriftTest, WhatHappensBetweenStepsIsFoundToo) {
  optimizer.zero_grad();
  dp.step(batch, kLoss);
  dp.step(batch, kLoss);
  corrupt(dp.replica(2).head.bias);
  const auto text = thrown_text<ReplicaError>([&] { dp.step(batch, kLoss); });
  EXPECT_THAT(text,
              HasSubstr("step 3: 'head.bias' on " + testing::device_name(2) +
                        " differs from its value on " + testing::device_name(0)));
  dp.step(batch, kLoss);
}

TEST_P(DriftTest, BuffersAreCompared) {
  dp.eval();
  dp.step(batch, kLoss);
  dp.step(batch, kLoss);
  corrupt(dp.replica(2).norm1.running_var);
  EXPECT_THAT(thrown_text<ReplicaError>([&] { dp.step(batch, kLoss); }),
              HasSubstr("'norm1.running_var' on " + testing::device_name(2)));
}

// classic sends all values for every forward: nothing lasts between steps.
INSTANTIATE_TEST_SUITE_P(Modes,
                         DriftTest,
                         ::testing::Values(Mode::server, Mode::sharded, Mode::ddp),
                         [](const auto& instance) { return std::string(name(instance.param)); });

}  // namespace
}  // namespace tandem::parallel::test
