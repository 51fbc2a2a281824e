// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/module/module_gradients.hpp"

#include <gmock/gmock.h>

#include "parallel/engine.hpp"
#include "thrown_text.hpp"

namespace tandem::parallel::test {
namespace {

using tandem::testing::thrown_text;
using ::testing::Each;
using ::testing::HasSubstr;

/// Gradients of Affine on a few devices. The row r + 1 makes r + 1 of each weight, 24 of the bias.
struct Gradients : TestReplicas {
  explicit Gradients(int n = 2, Mode mode = Mode::server)
      : TestReplicas(n, mode),
        parameters(replicas, rules, {1, 1}),
        gradients(replicas, parameters, rules, runner, [this](Phase phase, const Job& job) {
          const auto call = make_call_everywhere();
          parameters.begin(*call);
          run(call, phase, job);
          if (fails) throw InvalidArgument("the devices are lost");
          return call;
        }) {}

  /// A backward of each device through its rows, which are reduced unless that is off.
  std::shared_ptr<Call> go_backward(const std::vector<RowRange>& rows) {
    const GradientSnapshot before = gradients.begin_backward();
    const auto call = make_call(rows, gradients.has_unreduced() ? Members::all : Members::active);
    run(call, Phase::backward, [this](Call& c, Call::Part& part) {
      gradients.arm(c, part);
      backward(part);
      finish_reduction(c, part);
    });
    gradients.note_backward();
    gradients.adopt(*call);
    if (gradients.reduces()) gradients.update().reduced();
    return call;
  }
  std::vector<double> weight() { return modules[0].weight.grad().to_doubles(); }
  double bias() { return modules[0].bias.grad().item(); }

  bool fails = false;
  ModuleParameters parameters;
  ModuleGradients gradients;
};

TEST(ModuleGradientsTest, UnreducedOnesStayInTheReplicasUntilTheSync) {
  Gradients g;
  g.gradients.syncs = GradientSync::off;
  g.go_backward({{0, 1}, {1, 2}});
  g.go_backward({{0, 1}, {1, 2}});
  EXPECT_TRUE(g.gradients.has_unreduced());
  EXPECT_THAT(g.weight(), Each(2)) << "replica 0's, twice";
  g.gradients.sync();
  EXPECT_FALSE(g.gradients.has_unreduced());
  EXPECT_THAT(g.weight(), Each(6));
  EXPECT_EQ(g.bias(), 96);
  g.gradients.sync();
  EXPECT_THAT(g.weight(), Each(6)) << "nothing was left";
}

TEST(ModuleGradientsTest, ASyncThatFailsLeavesThemUnreduced) {
  Gradients g;
  g.gradients.syncs = GradientSync::off;
  g.go_backward({{0, 1}, {1, 2}});
  g.fails = true;
  EXPECT_THROW(g.gradients.sync(), InvalidArgument);
  EXPECT_TRUE(g.gradients.has_unreduced());
  EXPECT_THAT(g.weight(), Each(1));
  g.fails = false;
  g.gradients.sync();
  EXPECT_THAT(g.weight(), Each(3));
}

TEST(ModuleGradientsTest, WithTheModulesTheReplicasAreDropped) {
  Gradients g;
  g.gradients.syncs = GradientSync::off;
  g.go_backward({{0, 1}, {1, 2}});
  g.modules[0].zero_grad();
  g.gradients.sync();
  EXPECT_FALSE(g.gradients.has_unreduced());
  EXPECT_FALSE(g.modules[0].weight.grad().defined());
  g.gradients.syncs = GradientSync::on;
  g.go_backward({{0, 1}, {1, 2}});
  EXPECT_THAT(g.weight(), Each(3));
}

TEST(ModuleGradientsTest, OneDeviceUpdatesAloneInEveryMode) {
  for (const Mode mode : kModes) {
    EXPECT_FALSE(Gradients(1, mode).gradients.update().is_shared());
    Gradients two(2, mode);
    const bool shared = mode != Mode::classic && mode != Mode::server;
    EXPECT_EQ(two.gradients.update().is_shared(), shared) << name(mode);
    EXPECT_EQ(two.parameters.arena()->sharing() != nullptr, shared) << name(mode);
  }
}

TEST(ModuleGradientsTest, ReadingThemMakesThemWholeWhileTheOwnerLives) {
  for (const bool lives : {true, false}) {
    Gradients g(2, Mode::sharded);
    auto owner = std::make_shared<const int>(0);
    g.gradients.complete_on_reading(owner);
    g.go_backward({{0, 1}, {1, 2}});
    if (!lives) owner.reset();
    // Of the bucket of 32 elements device 1 has the second half.
    EXPECT_EQ(g.weight()[15], 3);
    EXPECT_EQ(g.weight()[23], lives ? 3 : 1);
  }
}

TEST(ModuleGradientsTest, ReadingThoseOfAParameterUnfrozenSinceMakesThemWholeToo) {
  TestReplicas r(2, Mode::sharded);
  r.modules[0].weight.requires_grad_(false);
  ModuleParameters parameters(r.replicas, r.rules, {1, 1});
  ModuleGradients gradients(r.replicas, parameters, r.rules, r.runner, nullptr);
  const auto owner = std::make_shared<const int>(0);
  gradients.complete_on_reading(owner);
  gradients.release();
  parameters.release();
  r.modules[0].weight.requires_grad_();
  parameters.bind();
  gradients.bind();
  for (const auto& arena : parameters.arenas())
    arena->gradient(0).fill_(arena->device() == r.list[0] ? 1 : 2);
  r.modules[0].weight.set_grad(parameters.arena()->gradient(0));
  gradients.update().reduced();
  EXPECT_EQ(r.modules[0].weight.grad().to_doubles()[23], 2) << "device 1's share";
}

TEST(ModuleGradientsTest, AnUpdateThatFailsHalfWayPoisonsTheRunner) {
  Gradients g(2, Mode::sharded);
  EXPECT_THROW(g.gradients.update().sharing()->update([&](Device device) {
    return device == g.list[1] ? std::make_exception_ptr(InvalidArgument("no such luck"))
                               : std::exception_ptr();
  }),
               ReplicaError);
  EXPECT_THAT(thrown_text([&] { g.runner.check_usable(); }),
              ::testing::AllOf(HasSubstr("an update failed half-way"), HasSubstr("no such luck")));
}

}  // namespace
}  // namespace tandem::parallel::test
