// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/step/micro_batch_pass.hpp"

#include <map>
#include <mutex>

#include <gmock/gmock.h>

#include "tandem/autograd/row_group.hpp"

#include "parallel/engine.hpp"
#include "thrown_text.hpp"

namespace tandem::parallel::test {
namespace {

using tandem::testing::thrown_text;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Rows = std::vector<RowRange>;

/// Passes over the rows 0 to 3 on two devices.
struct Passes : TestEngine {
  Passes() : TestEngine({}) {}

  std::shared_ptr<Call> take(const std::shared_ptr<Call>& call, GradientPass::LossBody body) {
    MicroBatchPass pass(non_finite, std::move(body), gradients, buffers);
    gradients.begin_backward();
    run(call, Phase::replicate, [&](Call& c, Call::Part& part) {
      send(c, part);
      pass.run(c, part);
    });
    gradients.adopt(*call);
    return call;
  }
};

TEST(MicroBatchPassTest, ReplicasSeeTheRowsOfTheMicroBatchInTheContextOfTheWholeBatch) {
  Passes p;
  std::mutex mutex;
  std::map<int, Rows> seen;
  p.take(p.open_step({{0, 2}, {2, 4}}, {{{0, 1}, {1, 2}}, {{2, 4}, {4, 4}}}),
         [&](const Replica& r) {
           EXPECT_EQ(context().rows, r.rows);
           EXPECT_EQ(context().batch_rows, 4);
           EXPECT_EQ(current_row_group() == nullptr, r.rows == (RowRange{2, 4})) << "alone";
           const std::scoped_lock lock(mutex);
           seen[r.index].push_back(r.rows);
           return p.loss_of(r);
         });
  EXPECT_THAT(seen[0], ElementsAre(RowRange{0, 1}, RowRange{2, 4}));
  EXPECT_THAT(seen[1], ElementsAre(RowRange{1, 2}));
}

TEST(MicroBatchPassTest, EachMicroBatchBeginsAtTheCallsRandomNumbersAndADrawInAnyIsNoted) {
  Passes p;
  const auto call = p.take(p.open_step({{0, 2}, {2, 4}}, {{{0, 1}, {1, 2}}, {{2, 3}, {3, 4}}}),
                           [&](const Replica& r) {
                             EXPECT_EQ(context().frame->calls["dropout"]++, 0);
                             if (r.rows.begin == 0) context().frame->drew = true;
                             return p.loss_of(r);
                           });
  EXPECT_TRUE(call->part(0).frame->drew);
  EXPECT_FALSE(call->part(1).frame->drew);
}

TEST(MicroBatchPassTest, ALossThatIsNoScalarIsDescribed) {
  Passes p;
  const auto call = p.open_step({{0, 1}, {1, 4}}, {{{0, 1}, {1, 4}}});
  const auto text = thrown_text<ReplicaError>([&] {
    p.take(call, [&](const Replica& r) {
      WeightedSum loss = p.loss_of(r);
      loss.sum = p.modules[static_cast<std::size_t>(r.index)].weight * 1.0;
      return loss;
    });
  });
  EXPECT_THAT(text, HasSubstr("the loss must be a scalar, got f64 (24)"));
}

TEST(MicroBatchPassTest, PutsEarlierGradientsAsideIfThereAreSeveralMicroBatches) {
  Passes p;
  const MicroBatchPass pass(p.non_finite, nullptr, p.gradients, p.buffers);
  EXPECT_FALSE(pass.begins_anew(*p.open_step({{0, 1}, {1, 4}}, {{{0, 1}, {1, 4}}})));
  const auto several = p.open_step({{0, 2}, {2, 4}}, {{{0, 1}, {1, 2}}, {{2, 3}, {3, 4}}});
  EXPECT_TRUE(pass.begins_anew(*several));
  EXPECT_EQ(pass.outside_factor(*several), 1);
  EXPECT_FALSE(pass.gives_whole_gradients());
}

}  // namespace
}  // namespace tandem::parallel::test
