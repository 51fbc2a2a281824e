// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/module/module_parameters.hpp"

#include <gmock/gmock.h>

#include "parallel/engine.hpp"

namespace tandem::parallel::test {
namespace {

using ::testing::ElementsAre;
using Versions = std::vector<std::uint64_t>;

struct Parameters : TestReplicas {
  explicit Parameters(int n = 2, Mode mode = Mode::server)
      : TestReplicas(n, mode), parameters(replicas, rules, {1, 1}) {}

  /// Sends what the devices of the rows lack.
  std::shared_ptr<Call> send(const std::vector<RowRange>& rows) {
    const auto call = make_call(rows);
    parameters.begin(*call);
    run(call, Phase::replicate, [this](Call& c, Call::Part& part) {
      parameters.send(c, part);
      parameters.end_send(c, part);
    });
    parameters.note_sent(*call);
    return call;
  }
  bool would_send(const std::vector<RowRange>& rows) {
    const auto call = make_call(rows);
    parameters.begin(*call);
    return call->parameters.send;
  }

  ModuleParameters parameters;
};

TEST(ModuleParametersTest, EveryReplicaHasStorageOnItsDevice) {
  Parameters p(3);
  const auto arenas = p.parameters.arenas();
  ASSERT_EQ(arenas.size(), 3u);
  EXPECT_EQ(arenas[0], p.parameters.arena());
  for (std::size_t d = 0; d < 3; ++d) {
    EXPECT_EQ(arenas[d]->device(), p.list[d]);
    EXPECT_TRUE(arenas[d]->tensor(0).is(p.modules[d].weight)) << "device " << d;
    EXPECT_TRUE(arenas[d]->tensor(1).is(p.modules[d].bias)) << "device " << d;
    EXPECT_TRUE(p.modules[d].weight.requires_grad());
  }
}

TEST(ModuleParametersTest, ADeviceThatTookNoPartStillLacksThem) {
  Parameters p(3);
  p.send({{0, 2}, {2, 4}, {4, 4}});
  EXPECT_FALSE(p.would_send({{0, 2}, {2, 4}, {4, 4}}));
  EXPECT_TRUE(p.would_send({{0, 2}, {2, 2}, {2, 4}}));
}

TEST(ModuleParametersTest, DeviceZeroLacksNothing) {
  Parameters p;
  EXPECT_FALSE(p.would_send({{0, 4}, {4, 4}}));
  EXPECT_TRUE(p.would_send({{0, 2}, {2, 4}}));
}

TEST(ModuleParametersTest, AValueThatWasSentCountsAsReceivedOnlyAfterTheCall) {
  Parameters p;
  const auto call = p.make_call({{0, 2}, {2, 4}});
  p.parameters.begin(*call);
  p.run(call, Phase::replicate, [&](Call& c, Call::Part& part) {
    p.parameters.send(c, part);
    p.parameters.end_send(c, part);
  });
  EXPECT_TRUE(p.would_send({{0, 2}, {2, 4}})) << "the call has not succeeded";
}

TEST(ModuleParametersTest, ModeClassicSendsInEveryForward) {
  Parameters p(2, Mode::classic);
  p.send({{0, 2}, {2, 4}});
  EXPECT_TRUE(p.would_send({{0, 2}, {2, 4}}));
}

TEST(ModuleParametersTest, AReplicasTensorHasTheVersionOfTheModules) {
  Parameters p;
  {
    const autograd::NoGrad off;
    for (int i = 0; i < 3; ++i)
      p.modules[0].bias.fill_(i);
  }
  p.send({{0, 2}, {2, 4}});
  const auto arenas = p.parameters.arenas();
  EXPECT_EQ(arenas[1]->versions(), arenas[0]->versions());
}

TEST(ModuleParametersTest, NotesThePlacesThatAnUpdateChanged) {
  Parameters p;
  const auto call = p.make_call({{0, 4}, {4, 4}});
  note_update(call->part(0), [&] {
    const autograd::NoGrad off;
    p.modules[0].bias.fill_(2);
  });
  EXPECT_THAT(call->part(0).updated, ElementsAre(0, 1));
}

TEST(ModuleParametersTest, AfterAnUpdateOfEveryDeviceNothingIsSent) {
  Parameters p;
  p.send({{0, 2}, {2, 4}});
  const Versions before = p.parameters.arena()->versions();
  const auto call = p.make_call_everywhere();
  p.parameters.begin(*call);
  for (Call::Part& part : call->parts) {
    note_update(part, [&] {
      const autograd::NoGrad off;
      p.module_of(part).bias.fill_(2);
      p.module_of(part).bias.fill_(3);
    });
  }
  p.parameters.note_equal(*call);
  EXPECT_FALSE(p.would_send({{0, 2}, {2, 4}}));
  for (const auto& arena : p.parameters.arenas())
    EXPECT_THAT(arena->versions(), ElementsAre(before[0], before[1] + 1));
}

}  // namespace
}  // namespace tandem::parallel::test
