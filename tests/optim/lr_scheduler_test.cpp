// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/optim/lr_scheduler.hpp"

#include <cstddef>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/optim/sgd.hpp"
#include "tandem/tensor/factories.hpp"

namespace tandem::optim {
namespace {

using ::testing::HasSubstr;

SGD two_groups() {
  return SGD({{std::vector<Tensor>{zeros({1}).requires_grad_()}},
              {std::vector<Tensor>{zeros({1}).requires_grad_()}, {{"lr", 10}}}},
             {.lr = 1});
}

TEST(LRScheduler, SetsTheRateOfEachGroupFromItsOwnBase) {
  SGD opt = two_groups();
  LRScheduler scheduler(opt, StepLR{.step_size = 2, .gamma = 0.5});
  scheduler.step();
  EXPECT_EQ(scheduler.get_last_lr(), (std::vector<double>{1, 10}));
  scheduler.step();
  EXPECT_EQ(scheduler.get_last_lr(), (std::vector<double>{0.5, 5}));
  EXPECT_EQ(opt.param_groups()[1].lr(), 5);
}

TEST(LRScheduler, WarmsUpFromTheFirstStep) {
  SGD opt = two_groups();
  const LRScheduler scheduler(opt, LinearLR{.start_factor = 0.25, .total_iters = 3});
  EXPECT_EQ(opt.param_groups()[0].lr(), 0.25);
}

TEST(LRScheduler, TakesAnyFunctionOfTheStep) {
  SGD opt = two_groups();
  LRScheduler scheduler(opt,
                        LambdaLR{[](std::int64_t t) { return 1.0 / static_cast<double>(1 + t); }});
  scheduler.step();
  scheduler.step();
  scheduler.step();
  EXPECT_EQ(opt.param_groups()[0].lr(), 0.25);
}

TEST(LRScheduler, ChainsSchedules) {
  const ChainedScheduler chain{
      {StepLR{.step_size = 2, .gamma = 0.5}, LambdaLR{[](std::int64_t t) { return t + 1.0; }}}};
  EXPECT_EQ(chain(8, 0), 8);
  EXPECT_EQ(chain(8, 3), 8 * 0.5 * 4);
}

TEST(LRScheduler, GoesOnFromItsState) {
  SGD first = two_groups(), second = two_groups();
  const CosineAnnealingLR cosine{.t_max = 10, .eta_min = 0.01};
  LRScheduler a(first, cosine);
  for (int i = 0; i < 4; ++i)
    a.step();
  second.param_groups()[0].set("lr", 77);  // whatever stood there
  LRScheduler b(second, cosine);

  b.load_state_dict(a.state_dict());
  EXPECT_EQ(b.get_last_lr(), a.get_last_lr());
  a.step();
  b.step();
  EXPECT_EQ(b.get_last_lr(), a.get_last_lr());
  EXPECT_EQ(b.last_epoch(), 5);
}

TEST(LRScheduler, RefusesAStateOfOtherGroups) {
  SGD opt = two_groups();
  LRScheduler scheduler(opt, StepLR{.step_size = 1, .gamma = 0.5});
  scheduler.step();
  try {
    scheduler.load_state_dict({{"last_epoch", 3}, {"base_lrs.0", 1}});
    FAIL() << "expected InvalidArgument";
  } catch (const InvalidArgument& e) {
    EXPECT_THAT(e.what(), HasSubstr("1 groups of parameters, but the optimizer has 2"));
  }
  EXPECT_EQ(scheduler.last_epoch(), 1);
  EXPECT_EQ(opt.param_groups()[0].lr(), 0.5);
}

TEST(LRScheduler, RefusesSizesOutOfRange) {
  SGD opt = two_groups();
  EXPECT_THROW(LRScheduler(opt, StepLR{.step_size = 0}), InvalidArgument);
  EXPECT_THROW(LRScheduler(opt, CosineAnnealingLR{.t_max = 0}), InvalidArgument);
  EXPECT_THROW(LRScheduler(opt, LinearLR{.total_iters = 0}), InvalidArgument);
  EXPECT_THROW(LRScheduler(opt, SequentialLR{{StepLR{}, StepLR{}}, {}}), InvalidArgument);
  EXPECT_THROW(LRScheduler(opt, SequentialLR{{StepLR{}, StepLR{}, StepLR{}}, {3, 3}}),
               InvalidArgument);
  EXPECT_THROW(LRScheduler(opt, nullptr), InvalidArgument);
  EXPECT_EQ(opt.param_groups()[0].lr(), 1);
}

TEST(ScaledLr, FollowsTheBatch) {
  EXPECT_DOUBLE_EQ(scaled_lr(0.1, 256, 1024, LRScaling::linear), 0.4);
  EXPECT_DOUBLE_EQ(scaled_lr(0.1, 256, 1024, LRScaling::square_root), 0.2);
  EXPECT_DOUBLE_EQ(scaled_lr(0.1, 256, 64, LRScaling::linear), 0.025);
  EXPECT_THROW(scaled_lr(0.1, 0, 64, LRScaling::linear), InvalidArgument);
  EXPECT_THROW(scaled_lr(0.1, 64, 0, LRScaling::square_root), InvalidArgument);
}

}  // namespace
}  // namespace tandem::optim
