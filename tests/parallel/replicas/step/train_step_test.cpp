// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/step/train_step.hpp"

#include <gmock/gmock.h>

#include "tandem/autograd/gradient_source.hpp"

#include "parallel/engine.hpp"
#include "parallel/replicas/step/kept_gradients.hpp"
#include "parallel/replicas/step/micro_batch_pass.hpp"
#include "parallel/replicas/step/optimizer_update.hpp"
#include "thrown_text.hpp"

namespace tandem::parallel::test {
namespace {

using tandem::testing::thrown_text;
using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::HasSubstr;
using Rows = std::vector<RowRange>;

/// Steps over the rows 0 to 3, of which device 0 has one. The mean loss has a gradient of 1 for
/// each weight.
struct Steps : TestEngine {
  Steps() : TestEngine({}) {}

  StepResult take(optim::Optimizer* optimizer = nullptr) {
    std::unique_ptr<StepUpdate> update = std::make_unique<KeptGradients>();
    if (optimizer != nullptr)
      update = std::make_unique<OptimizerUpdate>(*optimizer, nullptr, gradients);
    const Rows rows{{0, 1}, {1, 4}};
    const auto step = std::make_shared<TrainStep>(
        engine,
        open_step(rows, {rows}),
        std::make_unique<MicroBatchPass>(
            non_finite, [this](const Replica& r) { return loss_of(r); }, gradients, buffers),
        std::move(update),
        TrainStep::Effect::real);
    CallGate::Pass inside(gate);
    return TrainStep::take(step, inside);
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
};

/// Refuses a step before the vote.
class Refusing final : public optim::Optimizer {
 public:
  explicit Refusing(Affine& module)
      : Optimizer("Refusing", {{.params = module.parameters()}}, {}) {}

 protected:
  std::vector<optim::StateSpec> state(const optim::ParamGroup&) const override {
    throw InvalidArgument("no room for the state");
  }
  void update(const optim::UpdateSlice&, const optim::ParamGroup&, std::int64_t) override {}
};

TEST(TrainStepTest, AnOptimizerThatRefusesBeforeTheVoteLeavesEverythingAsItWas) {
  Steps s;
  Refusing optimizer(s.modules[0]);
  const auto before = s.state();
  EXPECT_THAT(thrown_text<ReplicaError>([&] { s.take(&optimizer); }),
              HasSubstr("no room for the state"));
  EXPECT_EQ(s.state(), before);
  EXPECT_NO_THROW(s.take());
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

}  // namespace
}  // namespace tandem::parallel::test
