// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/module/module_buffers.hpp"

#include <limits>
#include <stdexcept>

#include <gmock/gmock.h>

#include "parallel/engine.hpp"

namespace tandem::parallel::test {
namespace {

using ::testing::Each;
using Rows = std::vector<RowRange>;

struct Buffers : TestReplicas {
  explicit Buffers(int n, const std::vector<BufferRule>& buffer_rules = {})
      : TestReplicas(n), buffers(replicas, rules, buffer_rules, /*in_evaluation=*/true) {}

  /// A call of these rows that has sent the buffers, and in which each replica writes its own.
  std::shared_ptr<Call> write(const Rows& rows, const std::function<void(Affine&, int)>& f) {
    const auto call = make_call(rows);
    buffers.begin(*call);
    buffers.expect_writes(*call);
    const ModuleBuffers::Shown shown(buffers);
    run(call, Phase::replicate, [&](Call& c, Call::Part& part) {
      buffers.send(c, part);
      if (part.active) f(module_of(part), part.index());
      buffers.combine(c, part);
    });
    return call;
  }
  void merge(Call& call) {
    buffers.merge(call, call.part(0));
    buffers.note_written(call);
  }
  bool would_send(const Rows& rows) {
    const auto call = make_call(rows);
    buffers.begin(*call);
    return call->buffers.send;
  }

  ModuleBuffers buffers;
};

/// Writes the replica's number, from 1, and counts 1, 2, 4, ...
void write_number(Affine& module, int device) {
  const autograd::NoGrad off;
  module.seen.fill_(device + 1);
  module.count.add_(full({}, 1 << device, {.dtype = DType::i64, .device = module.count.device()}));
}
void write_nothing(Affine&, int) {}

TEST(ModuleBuffersTest, ACopyHasTheVersionOfTheModulesBuffer) {
  Buffers b(2);
  for (int i = 0; i < 3; ++i)
    b.modules[0].seen.fill_(i);
  b.write({{0, 2}, {2, 4}}, write_nothing);
  for (const auto& replica : b.replicas)
    EXPECT_EQ(replica->buffers->versions(), b.buffers.arena()->versions());
}

TEST(ModuleBuffersTest, WhatReplicasWriteStaysInTheCopiesUntilTheMerge) {
  Buffers b(2, {{"count", BufferMerge::sum}});
  const Tensor own = b.modules[0].seen;
  const auto call = b.write({{0, 2}, {2, 4}}, write_number);
  EXPECT_TRUE(b.modules[0].seen.is(own));
  EXPECT_THAT(b.modules[0].seen.to_doubles(), Each(0));
  EXPECT_EQ(b.modules[0].count.item(), 100);
  b.merge(*call);
  EXPECT_THAT(own.to_doubles(), Each(1));
  EXPECT_EQ(b.modules[0].count.item(), 103);
}

TEST(ModuleBuffersTest, TheModuleShowsItsCopiesForAScopeOnly) {
  Buffers b(2);
  const Tensor own = b.modules[0].seen;
  EXPECT_THROW(
      {
        const ModuleBuffers::Shown shown(b.buffers);
        EXPECT_FALSE(b.modules[0].seen.is(own));
        throw std::runtime_error("the call failed");
      },
      std::runtime_error);
  EXPECT_TRUE(b.modules[0].seen.is(own));
}

TEST(ModuleBuffersTest, TheFirstRuleThatMatchesApplies) {
  Buffers b(2, {{"*", BufferMerge::first}, {"s*", BufferMerge::sum}});
  b.merge(*b.write({{0, 1}, {1, 2}}, write_number));
  EXPECT_THAT(b.modules[0].seen.to_doubles(), Each(1));
}

TEST(ModuleBuffersTest, MeansLeaveADeviceWithoutRowsOut) {
  Buffers b(3, {{"seen", BufferMerge::mean}});
  b.modules[0].seen.fill_(std::numeric_limits<double>::infinity());
  b.merge(*b.write({{0, 0}, {0, 1}, {1, 4}}, write_number));
  EXPECT_THAT(b.modules[0].seen.to_doubles(), Each(2.75)) << "(1 * 2 + 3 * 3) / 4";
}

TEST(ModuleBuffersTest, AnEvaluationMergesNothingAndIsSentOnce) {
  Buffers b(2, {{"count", BufferMerge::sum}});
  b.modules[0].eval();
  const auto before = b.buffers.arena()->versions();
  b.merge(*b.write({{0, 2}, {2, 4}}, write_nothing));
  EXPECT_EQ(b.buffers.arena()->versions(), before);
  EXPECT_FALSE(b.would_send({{0, 2}, {2, 4}}));
  b.modules[0].seen.fill_(3);
  EXPECT_TRUE(b.would_send({{0, 2}, {2, 4}}));
}

}  // namespace
}  // namespace tandem::parallel::test
