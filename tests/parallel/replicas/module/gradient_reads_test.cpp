// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/module/gradient_reads.hpp"

#include <memory>

#include <gmock/gmock.h>

#include "tandem/tensor/factories.hpp"

#include "devices.hpp"

namespace tandem::parallel::test {
namespace {

/// A parameter, and how often its gradient was completed.
class GradientReadsTest : public ::testing::Test {
 protected:
  GradientReadsTest() {
    arena_ = optim::Arena::obtain({{"x", x_}});
    x_.set_grad(ones({3}, {.device = testing::device(0)}));
  }
  /// Reads the gradient. @return how often that has completed it
  int read() {
    const int before = completed_;
    x_.grad();
    return completed_ - before;
  }

  Tensor x_ = zeros({3}, {.device = testing::device(0)}).requires_grad_();
  std::shared_ptr<optim::Arena> arena_;
  int completed_ = 0;
  GradientReads reads_{[this] { ++completed_; }};
  std::shared_ptr<const int> owner_ = std::make_shared<const int>(0);
};

TEST_F(GradientReadsTest, AReadCompletesWhileTheOwnerLives) {
  reads_.begin(owner_);
  reads_.attach(*arena_);
  EXPECT_EQ(read(), 1);
  owner_.reset();
  EXPECT_EQ(read(), 0);
}

TEST_F(GradientReadsTest, ReadsAreNoticedOnceBothBegunAndAttached) {
  reads_.attach(*arena_);
  EXPECT_EQ(read(), 0) << "it was not begun";
  reads_.begin(owner_);
  EXPECT_EQ(read(), 0) << "it was not attached since";
  reads_.attach(*arena_);
  EXPECT_EQ(read(), 1);
}

TEST_F(GradientReadsTest, WhatLiesIsReadAsItLies) {
  reads_.begin(owner_);
  reads_.attach(*arena_);
  {
    const GradientReads::AsTheyLie outer(reads_);
    EXPECT_EQ(read(), 0);
    { const GradientReads::AsTheyLie inner(reads_); }
    EXPECT_EQ(read(), 0) << "the outer scope has not ended";
  }
  EXPECT_EQ(read(), 1);
}

}  // namespace
}  // namespace tandem::parallel::test
