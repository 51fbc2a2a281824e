// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/reduce/non_finite_watch.hpp"

#include <cmath>
#include <memory>
#include <optional>

#include <gmock/gmock.h>

#include "tandem/tensor/factories.hpp"

#include "devices.hpp"

namespace tandem::parallel::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Ne;

/// Three parameters, of which the second has another type than the others, with gradients of ones.
class NonFiniteWatchTest : public ::testing::Test {
 protected:
  NonFiniteWatchTest() {
    const auto parameter = [](DType t) {
      return zeros({5}, {.dtype = t, .device = testing::device(0)}).requires_grad_();
    };
    arena_ = optim::Arena::obtain(
        {{"a", parameter(DType::f32)}, {"b", parameter(DType::f64)}, {"c", parameter(DType::f32)}});
    for (std::size_t p = 0; p < 3; ++p)
      arena_->gradient(p).fill_(1);
    watch_.emplace(arena_);
  }
  void look_at_all() {
    for (std::size_t p = 0; p < 3; ++p)
      watch_->look_at(p);
  }

  std::shared_ptr<optim::Arena> arena_;
  std::optional<NonFiniteWatch> watch_;
};

TEST_F(NonFiniteWatchTest, FindsInfinitiesAndNaNByPlace) {
  watch_->start();
  arena_->gradient(1).fill_(-INFINITY);
  arena_->gradient(2).select(0, 4).fill_(NAN);
  look_at_all();
  EXPECT_THAT(watch_->found(), ElementsAre(0, Ne(0), Ne(0)));
}

TEST_F(NonFiniteWatchTest, LooksAtTheGradientsThatItIsToldOf) {
  watch_->start();
  arena_->gradient(0).fill_(NAN);
  watch_->look_at(1);
  EXPECT_THAT(watch_->found(), ElementsAre(0, 0, 0));
  watch_->look_at(0);
  arena_->gradient(0).fill_(1);
  EXPECT_THAT(watch_->found(), ElementsAre(Ne(0), 0, 0)) << "what they were when it looked";
}

TEST_F(NonFiniteWatchTest, FindsNothingUnlessItWasStarted) {
  arena_->gradient(0).fill_(NAN);
  look_at_all();
  EXPECT_THAT(watch_->found(), IsEmpty());
  watch_->start();
  look_at_all();
  watch_->stop();
  EXPECT_THAT(watch_->found(), IsEmpty());
  watch_->start();
  EXPECT_THAT(watch_->found(), ElementsAre(0, 0, 0)) << "it begins anew";
}

}  // namespace
}  // namespace tandem::parallel::test
