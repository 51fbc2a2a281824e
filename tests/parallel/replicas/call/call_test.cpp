// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/call/call.hpp"

#include <gmock/gmock.h>

#include "tandem/nn/linear.hpp"

#include "devices.hpp"

namespace tandem::parallel::test {
namespace {

using ::testing::ElementsAre;

class CallTest : public ::testing::Test {
 protected:
  CallTest() : groups_(testing::devices(2), {}) {
    for (int d = 0; d < 2; ++d)
      replicas_.push_back(std::make_unique<DeviceReplica>(d, testing::device(d), module_));
  }
  std::unique_ptr<Call> call(const std::vector<RowRange>& rows) {
    return std::make_unique<Call>(
        replicas_, rows, groups_.get(rows, ReplicaGroups::Members::active));
  }

  nn::Linear module_{1, 1};
  std::vector<std::unique_ptr<DeviceReplica>> replicas_;
  ReplicaGroups groups_;
};

TEST_F(CallTest, PartsHaveTheirRowsOfTheBatch) {
  const auto both = call({{0, 3}, {3, 4}});
  EXPECT_EQ(both->part(1).whole.rows, 4);
  EXPECT_EQ(both->part(1).row_count(), 1);
  EXPECT_TRUE(both->part(1).active);
  EXPECT_THAT(both->rows(), ElementsAre(RowRange{0, 3}, RowRange{3, 4}));
  const auto one = call({{0, 0}, {0, 4}});
  EXPECT_FALSE(one->part(0).active);
  EXPECT_NE(one->part(0).comm, nullptr) << "it owns the model";
  const auto empty = call({{0, 0}, {0, 0}});
  EXPECT_TRUE(empty->part(0).active) << "the first runs where there are no rows";
  EXPECT_FALSE(empty->part(1).active);
}

TEST_F(CallTest, IsCancelledOrSealedNotBoth) {
  const auto cancelled = call({{0, 1}, {1, 2}});
  cancelled->cancel("test");
  EXPECT_THROW(cancelled->seal(), CommAborted);
  EXPECT_THROW(cancelled->part(0).comm->barrier(), CommAborted);
  cancelled->reset();
  const auto sealed = call({{0, 1}, {1, 2}});
  sealed->seal();
  sealed->cancel("too late");
  EXPECT_NO_THROW(sealed->seal());
}

TEST_F(CallTest, TellsTheCauseRatherThanItsEchoes) {
  const auto c = call({{0, 1}, {1, 2}});
  EXPECT_EQ(c->commit_error(), nullptr);
  c->part(0).commit_error = std::make_exception_ptr(CommAborted("echo"));
  EXPECT_EQ(c->commit_error(), c->part(0).commit_error);
  c->part(1).commit_error = std::make_exception_ptr(InvalidArgument("cause"));
  EXPECT_EQ(c->commit_error(), c->part(1).commit_error);
}

TEST_F(CallTest, APhaseThatFailedStaysNoted) {
  const auto c = call({{0, 1}, {1, 2}});
  Call::Part& part = c->part(0);
  in_phase(part, Phase::forward, [] {});
  EXPECT_THROW(in_phase(part, Phase::loss, [] { throw InvalidArgument("test"); }), InvalidArgument);
  EXPECT_EQ(part.phase.load(), Phase::loss);
}

TEST_F(CallTest, SaysWhetherSomebodyDrewNumbers) {
  const auto c = call({{0, 1}, {1, 2}});
  EXPECT_FALSE(c->drew());
  c->part(1).frame = std::make_shared<ForwardFrame>();
  EXPECT_FALSE(c->drew());
  c->part(1).frame->drew = true;
  EXPECT_TRUE(c->drew());
}

}  // namespace
}  // namespace tandem::parallel::test
