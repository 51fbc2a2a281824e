// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/step/train_step.hpp"

#include <limits>
#include <optional>

#include <gmock/gmock.h>

#include "tandem/autograd/gradient_source.hpp"
#include "tandem/optim/sgd.hpp"

#include "parallel/engine.hpp"
#include "parallel/replicas/step/bitwise_pass.hpp"
#include "parallel/replicas/step/kept_gradients.hpp"
#include "parallel/replicas/step/micro_batch_pass.hpp"
#include "parallel/replicas/step/optimizer_update.hpp"
#include "thrown_text.hpp"

namespace tandem::parallel::test {
namespace {

using tandem::testing::thrown_text;
using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Effect = TrainStep::Effect;
using Rows = std::vector<RowRange>;

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

/// Steps over the rows 0 to 3, of which device 0 has one. The mean loss is 304.8; it has a gradient
/// of 1 for each weight, and of 9.6 for the bias.
struct Steps : TestEngine {
  using LossBody = GradientPass::LossBody;

  explicit Steps(const EngineOptions& o = {}) : TestEngine(o) {}

  StepResult take(const std::shared_ptr<Call>& call,
                  std::unique_ptr<GradientPass> pass,
                  optim::Optimizer* optimizer,
                  Effect effect = Effect::real) {
    std::unique_ptr<StepUpdate> update = std::make_unique<KeptGradients>();
    if (optimizer != nullptr)
      update =
          std::make_unique<OptimizerUpdate>(*optimizer, scaler ? &*scaler : nullptr, gradients);
    const auto step =
        std::make_shared<TrainStep>(engine, call, std::move(pass), std::move(update), effect);
    CallGate::Pass inside(gate);
    return TrainStep::take(step, inside);
  }
  StepResult take(optim::Optimizer* optimizer = nullptr,
                  const LossBody& body = nullptr,
                  Effect effect = Effect::real) {
    const Rows rows{{0, 1}, {1, 4}};
    return take(open_step(rows, {rows}), pass_of(body), optimizer, effect);
  }
  StepResult take_in_halves(optim::Optimizer* optimizer = nullptr) {
    const auto call = open_step({{0, 2}, {2, 4}}, {{{0, 1}, {1, 2}}, {{2, 3}, {3, 4}}});
    return take(call, pass_of(nullptr), optimizer);
  }
  std::unique_ptr<GradientPass> pass_of(const LossBody& body) {
    return std::make_unique<MicroBatchPass>(
        non_finite,
        body ? body : [this](const Replica& r) { return loss_of(r); },
        gradients,
        buffers);
  }
  std::vector<double> weight_gradient() { return modules[0].weight.grad().to_doubles(); }
  /// Everything of the user's that a step may change.
  std::vector<std::vector<double>> state() {
    Affine& m = modules[0];
    std::vector<std::vector<double>> all;
    for (const Tensor& x : {Tensor(m.weight), Tensor(m.bias), Tensor(m.seen), Tensor(m.count)})
      all.push_back(x.to_doubles());
    for (const Tensor& g : {m.weight.grad(), m.bias.grad()})
      all.push_back(g.defined() ? g.to_doubles() : std::vector<double>{});
    return all;
  }

  std::optional<optim::GradScaler> scaler;
};

optim::SGD sgd(Affine& module) {
  return optim::SGD(module.named_parameters(), {.lr = 0.5});
}

TEST(TrainStepTest, ReportsTheMeanLossItsWeightAndTheRows) {
  Steps s;
  const StepResult result = s.take();
  EXPECT_DOUBLE_EQ(result.loss, 304.8);
  EXPECT_EQ(result.weight, 10);
  EXPECT_THAT(result.rows, ElementsAre(1, 3));
  EXPECT_FALSE(result.skipped);
  EXPECT_FALSE(result.non_finite.has_value());
}

TEST(TrainStepTest, WithoutAnOptimizerGradientsAreAddedToEarlierOnes) {
  for (const Mode mode : kModes) {
    Steps s({.mode = mode});
    s.take();
    s.take_in_halves();
    EXPECT_THAT(s.weight_gradient(), Each(DoubleNear(2, 1e-14))) << name(mode);
    EXPECT_NEAR(s.modules[0].bias.grad().item(), 19.2, 1e-13) << name(mode);
    EXPECT_EQ(s.modules[0].weight.to_doubles()[0], 1) << "no update";
  }
}

TEST(TrainStepTest, AnOptimizerUpdatesAndTheNextStepHasTheNewValuesEverywhere) {
  for (const Mode mode : kModes) {
    Steps s({.mode = mode});
    optim::SGD optimizer = sgd(s.modules[0]);
    s.modules[0].weight.set_grad(
        full({kColumns}, 1000, {.dtype = DType::f64, .device = s.list[0]}));
    EXPECT_DOUBLE_EQ(s.take(&optimizer).loss, 304.8) << name(mode);
    EXPECT_NEAR(s.modules[0].weight.to_doubles()[23], 23.5, 1e-13) << name(mode);
    EXPECT_NEAR(s.modules[0].bias.item(), 0.5 - 4.8, 1e-13) << name(mode);
    // Row v: (300 - 24 / 2) v + 24 * -4.3; of all rows (2880 - 412.8) / 10.
    EXPECT_NEAR(s.take(&optimizer).loss, 246.72, 1e-12) << name(mode);
  }
}

TEST(TrainStepTest, BuffersTakeEffectWithTheStep) {
  Steps s({.buffers = {{"count", BufferMerge::sum}}});
  s.take();
  EXPECT_EQ(s.modules[0].count.item(), 104);
  EXPECT_THAT(s.modules[0].seen.to_doubles(), Each(1)) << "device 0's last row";
}

TEST(TrainStepTest, AFailureLeavesEverythingAsItWas) {
  for (const Mode mode : kModes) {
    Steps s({.mode = mode});
    optim::SGD optimizer = sgd(s.modules[0]);
    s.take();
    const auto before = s.state();
    try {
      s.take(nullptr, [&s](const Replica& r) {
        WeightedSum loss = s.loss_of(r);
        if (r.index == 1) throw InvalidArgument("a bad row");
        return loss;
      });
      ADD_FAILURE() << "no error";
    } catch (const ReplicaError& e) {
      EXPECT_EQ(e.replica, 1);
      EXPECT_EQ(e.rows, (RowRange{1, 4}));
      EXPECT_EQ(e.phase, Phase::forward);
    }
    EXPECT_EQ(s.state(), before) << name(mode);
    EXPECT_DOUBLE_EQ(s.take(&optimizer).loss, 304.8) << "it works again, " << name(mode);
  }
}

TEST(TrainStepTest, WhatAFailedStepWroteIntoReplicasBuffersIsForgotten) {
  Steps s({.buffers = {{"count", BufferMerge::sum}}});
  s.modules[0].eval();
  s.take();  // all replicas have the module's buffers now
  s.modules[0].train();
  EXPECT_THROW(s.take(nullptr,
                      [&s](const Replica& r) -> WeightedSum {
                        s.loss_of(r);
                        throw InvalidArgument("after the forward");
                      }),
               ReplicaError);
  s.take();
  EXPECT_EQ(s.modules[0].count.item(), 104);
}

/// Refuses a step before the vote, or throws in the update after it.
class Refusing final : public optim::Optimizer {
 public:
  enum class When { before, after };
  Refusing(Affine& module, When when)
      : Optimizer("Refusing", {{.params = module.parameters()}}, {}), when_(when) {}

 protected:
  std::vector<optim::StateSpec> state(const optim::ParamGroup&) const override {
    if (when_ == When::before) throw InvalidArgument("no room for the state");
    return {};
  }
  void update(const optim::UpdateSlice&, const optim::ParamGroup&, std::int64_t) override {
    throw InvalidArgument("half an update");
  }

 private:
  When when_;
};

TEST(TrainStepTest, AnUpdateThatFailsAfterTheVotePoisonsTheWrapper) {
  for (const Mode mode : kModes) {
    Steps s({.mode = mode});
    Refusing optimizer(s.modules[0], Refusing::When::after);
    EXPECT_THAT(thrown_text([&] { s.take(&optimizer); }), HasSubstr("half an update"));
    EXPECT_THAT(thrown_text([&] { s.take(); }),
                HasSubstr("the update failed after all replicas had agreed to it"))
        << name(mode);
  }
}

TEST(TrainStepTest, AnOptimizerThatRefusesBeforeTheVoteLeavesEverythingAsItWas) {
  Steps s;
  Refusing optimizer(s.modules[0], Refusing::When::before);
  const auto before = s.state();
  EXPECT_THAT(thrown_text<ReplicaError>([&] { s.take(&optimizer); }),
              HasSubstr("no room for the state"));
  EXPECT_EQ(s.state(), before);
  EXPECT_NO_THROW(s.take());
}

TEST(TrainStepTest, AStepWithoutEffectReportsAndChangesNothing) {
  Steps s;
  optim::SGD optimizer = sgd(s.modules[0]);
  const auto before = s.state();
  const StepResult result = s.take(&optimizer, nullptr, Effect::none);
  EXPECT_TRUE(result.skipped);
  EXPECT_DOUBLE_EQ(result.loss, 304.8);
  EXPECT_EQ(s.state(), before);
}

TEST(TrainStepTest, AScalerSkipsAStepThatOverflowsAndScalesTheOthersBack) {
  Steps s;
  optim::SGD optimizer = sgd(s.modules[0]);
  s.scaler.emplace(optim::GradScalerOptions{.init_scale = 8, .growth_interval = 1});
  EXPECT_DOUBLE_EQ(s.take(&optimizer).loss, 304.8);
  EXPECT_NEAR(s.modules[0].weight.to_doubles()[0], 0.5, 1e-14);
  EXPECT_EQ(s.scaler->get_scale(), 16);
  const auto before = s.modules[0].weight.to_doubles();
  const StepResult result = s.take(&optimizer, [&s](const Replica& r) {
    WeightedSum loss = s.loss_of(r);
    if (r.index == 1)
      autograd::register_hook(loss.sum, [](const Tensor& g) { return g * kNotANumber; });
    return loss;
  });
  EXPECT_TRUE(result.skipped);
  EXPECT_EQ(s.scaler->get_scale(), 8);
  EXPECT_EQ(s.modules[0].weight.to_doubles(), before);
}

TEST(TrainStepTest, HooksSeeTheSumOfAllReplicasAndOfThisStepAlone) {
  for (const Mode mode : kModes) {
    Steps s({.mode = mode});
    s.take();
    std::vector<double> seen;
    autograd::register_hook(s.modules[0].bias, [&seen](const Tensor& g) {
      seen.push_back(g.item());
      return g * 2.0;
    });
    s.take();
    EXPECT_THAT(seen, ElementsAre(DoubleNear(9.6, 1e-13))) << name(mode);
    EXPECT_NEAR(s.modules[0].bias.grad().item(), 3 * 9.6, 1e-12) << name(mode);
  }
}

TEST(TrainStepTest, UnderNoSyncGradientsStayInTheReplicasUnlessHooksWaitForThem) {
  Steps s;
  s.gradients.syncs = GradientSync::off;
  s.take();
  EXPECT_TRUE(s.gradients.has_unreduced());
  EXPECT_THAT(autograd::stored_gradient(s.modules[0].weight).to_doubles(),
              Each(DoubleNear(0.1, 1e-15)))
      << "device 0's row";
  autograd::register_hook(s.modules[0].bias, [](const Tensor&) { return Tensor(); });
  s.take();
  EXPECT_FALSE(s.gradients.has_unreduced());
  EXPECT_EQ(s.gradients.syncs, GradientSync::off) << "as before";
  EXPECT_THAT(s.weight_gradient(), Each(DoubleNear(2, 1e-14)));
}

TEST(TrainStepTest, TensorsFromOutsideGetTheGradientOfTheMeanLoss) {
  for (const bool updates : {false, true}) {
    for (const double scale : {1.0, 4.0}) {
      Steps s;
      optim::SGD optimizer = sgd(s.modules[0]);
      if (updates && scale != 1) s.scaler.emplace(optim::GradScalerOptions{.init_scale = scale});
      const Tensor factor =
          full({}, 2, {.dtype = DType::f64, .device = s.list[0]}).requires_grad_();
      s.take(updates ? &optimizer : nullptr, [&](const Replica& r) {
        WeightedSum loss = s.loss_of(r);
        loss.sum = loss.sum * factor.to(r.device);
        return loss;
      });
      EXPECT_NEAR(factor.grad().item(), 304.8, 1e-12);
    }
  }
}

TEST(TrainStepTest, ABitwisePassGivesTheSameStep) {
  for (const Mode mode : kModes) {
    Steps s({.mode = mode, .bitwise_leaves = 3});
    s.modules[0].eval();  // its buffers have no rule
    optim::SGD optimizer = sgd(s.modules[0]);
    const std::vector<Leaf> leaves{{0, {0, 1}}, {1, {1, 2}}, {1, {2, 4}}};
    const auto pass = [&] {
      return std::make_unique<BitwisePass>(
          s.non_finite, [&s](const Replica& r) { return s.loss_of(r); }, leaves);
    };
    s.take(s.calls.open(rows_of(leaves, 2)), pass(), &optimizer);
    EXPECT_NEAR(s.modules[0].weight.to_doubles()[23], 23.5, 1e-13) << name(mode);
    const StepResult next = s.take(s.calls.open(rows_of(leaves, 2)), pass(), &optimizer);
    EXPECT_NEAR(next.loss, 246.72, 1e-12) << name(mode);
  }
}

TEST(TrainStepTest, DriftStopsAStepThatIsDueForAComparison) {
  Steps s({.checks = {.drift_every = 2}});
  s.modules[0].eval();
  s.take();
  {
    const autograd::NoGrad off;
    s.modules[1].weight.fill_(3);
  }
  const auto before = s.state();
  EXPECT_THAT(thrown_text<ReplicaError>([&] { s.take(); }), HasSubstr("'weight'"));
  EXPECT_EQ(s.state(), before);
  s.engine->replicas[1]->buffers->tensor(0).fill_(3);
  EXPECT_THAT(thrown_text<ReplicaError>([&] { s.take(); }), HasSubstr("'seen'"));
}

}  // namespace
}  // namespace tandem::parallel::test
