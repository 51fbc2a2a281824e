// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/step/drift_check.hpp"

#include <gmock/gmock.h>

#include "tandem/parallel/replica_drift.hpp"

#include "parallel/engine.hpp"

namespace tandem::parallel::test {
namespace {

/// Replicas whose values are equal, compared in every second step.
class DriftCheckTest : public ::testing::Test {
 protected:
  DriftCheckTest() { engine_.send_everywhere(); }

  std::shared_ptr<Call> due_call() {
    engine_.drift.note_step();
    const auto call = engine_.calls.open_everywhere();
    engine_.drift.begin(*call);
    return call;
  }
  void compare(const std::shared_ptr<Call>& call) {
    engine_.run(call, Phase::forward, [this](Call& c, Call::Part& part) {
      DriftCheck::hash_buffers(c, part);
      engine_.drift.check(c, part);
    });
  }
  /// What the comparison finds.
  ReplicaDrift drift_of(const std::shared_ptr<Call>& call) {
    try {
      compare(call);
    } catch (const ReplicaError& e) {
      if (const auto* drift = find_cause<ReplicaDrift>(e)) return *drift;
    }
    ADD_FAILURE() << "no drift was found";
    return {"", {}, {}, 0};
  }

  TestEngine engine_{{.devices = 3, .checks = {.drift_every = 2}}};
};

TEST_F(DriftCheckTest, ComparesOnceInSoManyCommittedSteps) {
  const auto call = engine_.make_call_everywhere();
  std::vector<bool> compared;
  for (int step = 0; step < 4; ++step) {
    engine_.drift.begin(*call);
    compared.push_back(call->compares);
    engine_.drift.note_step();
  }
  EXPECT_EQ(compared, (std::vector<bool>{false, true, false, true}));
  engine_.drift.begin(*call);
  engine_.drift.begin(*call);
  EXPECT_FALSE(call->compares) << "steps that were not committed do not count";
}

TEST_F(DriftCheckTest, NeverComparesIfItIsOff) {
  const auto call = engine_.make_call_everywhere();
  const DriftCheck off(0);
  off.begin(*call);
  EXPECT_FALSE(call->compares);
}

TEST_F(DriftCheckTest, ADeviceThatDriftedGetsTheParametersAgain) {
  {
    const autograd::NoGrad off;
    engine_.modules[1].weight.fill_(5);
  }
  EXPECT_EQ(drift_of(due_call()).tensor(), "weight");
  EXPECT_TRUE(engine_.engine->replicas[1]->received.parameters.empty());
  EXPECT_FALSE(engine_.engine->replicas[2]->received.parameters.empty());
  engine_.send_everywhere();
  EXPECT_NO_THROW(compare(engine_.calls.open_everywhere()));
}

TEST_F(DriftCheckTest, BuffersAreComparedAsTheyWereBeforeTheForward) {
  const auto call = due_call();
  EXPECT_NO_THROW(engine_.run(call, Phase::forward, [this](Call& c, Call::Part& part) {
    DriftCheck::hash_buffers(c, part);
    part.replica->buffers->tensor(1).fill_(part.index());  // each replica writes its own
    engine_.drift.check(c, part);
  }));
  const ReplicaDrift drift = drift_of(call);
  EXPECT_EQ(drift.tensor(), "count");
  EXPECT_EQ(drift.device(), engine_.list[1]);
}

}  // namespace
}  // namespace tandem::parallel::test
