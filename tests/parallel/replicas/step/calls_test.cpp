// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/step/calls.hpp"

#include <gmock/gmock.h>

#include "tandem/runtime/generator.hpp"

#include "parallel/engine.hpp"
#include "thrown_text.hpp"

namespace tandem::parallel::test {
namespace {

using tandem::testing::thrown_text;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<RowRange> kBoth{{0, 1}, {1, 2}};

TEST(CallsTest, EveryDeviceTakesPartWhereTheUpdateIsSharedOrGradientsAreLeft) {
  const std::vector<RowRange> first_alone{{0, 2}, {2, 2}};
  TestEngine server({});
  EXPECT_THAT(server.calls.group_for(first_alone).members(), ElementsAre(0));
  EXPECT_THAT(server.calls.open_everywhere()->group.members(), ElementsAre(0, 1));
  server.gradients.syncs = GradientSync::off;
  server.gradients.note_backward();
  EXPECT_THAT(server.calls.group_for(first_alone).members(), ElementsAre(0, 1));
  TestEngine sharded({.mode = Mode::sharded});
  EXPECT_THAT(sharded.calls.group_for(first_alone).members(), ElementsAre(0, 1));
}

TEST(CallsTest, ACallWithoutRowsIsNotOneOfAnEmptyBatch) {
  TestEngine e({});
  EXPECT_FALSE(e.calls.open_everywhere()->part(0).active);
  EXPECT_TRUE(e.calls.open({{0, 0}, {0, 0}})->part(0).active);
}

TEST(CallsTest, ABackwardSendsNothing) {
  TestEngine e({});
  const auto call = e.calls.open_backward(kBoth);
  EXPECT_FALSE(call->parameters.send);
  EXPECT_FALSE(call->buffers.send);
}

TEST(CallsTest, UnreducedGradientsAreReducedBeforeParametersAreLaidOutAgain) {
  TestEngine e({});
  e.send_everywhere();
  e.gradients.syncs = GradientSync::off;
  const auto call = e.calls.open(kBoth);
  e.gradients.begin_backward();
  e.run(call, Phase::backward, [&](Call& c, Call::Part& part) {
    e.gradients.arm(c, part);
    e.backward(part);
    finish_reduction(c, part);
  });
  e.gradients.note_backward();
  e.modules[0].bias.requires_grad_(false);
  e.calls.open(kBoth);
  EXPECT_THAT(e.modules[0].weight.grad().to_doubles(), Each(3));
}

TEST(CallsTest, ACommitThatFailedIsThrownAndPoisonsTheWrapper) {
  TestEngine e({});
  const auto call = e.calls.open(kBoth);
  call->part(1).commit_error = std::make_exception_ptr(InvalidArgument("half an update"));
  EXPECT_THAT(thrown_text([&] { e.calls.commit(*call); }), HasSubstr("half an update"));
  EXPECT_THAT(thrown_text([&] { e.runner.check_usable(); }),
              HasSubstr("the update failed after all replicas had agreed to it"));
}

TEST(CallsTest, ACommitMovesRandomNumbersOnInTrainingOrIfTheyWereDrawn) {
  TestEngine e({});
  const auto moves = [&](bool drew) {
    const auto call = e.calls.open(kBoth);
    call->part(1).frame = std::make_shared<ForwardFrame>();
    call->part(1).frame->drew = drew;
    for (Call::Part& part : call->parts)
      part.buffers_before = part.replica->buffers->versions();
    const std::uint64_t before = default_generator().forwards();
    e.calls.commit(*call);
    return default_generator().forwards() - before;
  };
  EXPECT_EQ(moves(false), 1u);
  e.modules[0].eval();
  EXPECT_EQ(moves(false), 0u);
  EXPECT_EQ(moves(true), 1u);
  const ContextScope again([](Context& c) { c.recomputes = true; });
  EXPECT_EQ(moves(true), 0u) << "the first run has moved them";
}

TEST(CallsTest, ASharedUpdateLeavesNothingToSend) {
  TestEngine e({.mode = Mode::ddp});
  e.send_everywhere();
  for (const bool shared : {true, false}) {
    const auto call = e.calls.open(kBoth);
    call->shared_update = shared;
    for (Call::Part& part : call->parts) {
      part.buffers_before = part.replica->buffers->versions();
      note_update(part, [&] {
        const autograd::NoGrad off;
        e.module_of(part).bias.fill_(2);
      });
    }
    e.calls.commit(*call);
    EXPECT_EQ(e.calls.open(kBoth)->parameters.send, !shared);
  }
}

}  // namespace
}  // namespace tandem::parallel::test
