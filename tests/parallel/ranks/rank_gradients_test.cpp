// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/ranks/rank_gradients.hpp"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "parallel/rank_program.hpp"
#include "parallel/ranks/whole_parameters.hpp"
#include "thrown_text.hpp"

namespace tandem::parallel::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::thrown_text;

/// A rank's Pair and the reduction of its gradients. Each parameter has a bucket of its own.
struct PairGradients : PairReplica {
  explicit PairGradients(comm::Communicator& comm, DistributedDataParallelOptions o = {})
      : PairReplica(comm),
        options(with_a_bucket_each(o)),
        gradients(replica,
                  comm,
                  options,
                  std::make_shared<WholeParameters>(replica, comm, options.exchange)) {}

  static DistributedDataParallelOptions with_a_bucket_each(DistributedDataParallelOptions o) {
    o.exchange.first_bucket_nbytes = o.exchange.bucket_nbytes = 1;
    return o;
  }
  double first() const { return module.first.grad().item(); }
  double second() const { return module.second.grad().item(); }

  DistributedDataParallelOptions options;
  RankGradients gradients;
};

TEST(RankGradientsTest, ReadingAGradientCompletesTheReduction) {
  on_ranks(2, [](comm::Communicator& comm) {
    PairGradients pair(comm);
    pair.gradients.arm();
    EXPECT_FALSE(pair.gradients.is_reducing()) << "no backward has begun";
    pair.module.both(comm.rank() + 1).backward();
    EXPECT_TRUE(pair.gradients.is_reducing());
    EXPECT_EQ(pair.first(), 1.5) << "the mean of 1 and 2";
    EXPECT_FALSE(pair.gradients.is_reducing());
    EXPECT_EQ(pair.second(), 1.5);
    EXPECT_EQ(pair.gradients.log().data().iterations, 1);
  });
}

TEST(RankGradientsTest, ABackwardThatIsRefusedLeavesTheRankReadyForTheNext) {
  on_ranks(1, [](comm::Communicator& comm) {
    PairGradients pair(comm);
    pair.gradients.arm();
    pair.module.first_alone(1).backward();
    EXPECT_THAT(thrown_text([&] { pair.gradients.complete(); }), HasSubstr("'second'"));
    EXPECT_FALSE(pair.gradients.is_reducing());
    pair.gradients.arm();
    pair.module.both(1).backward();
    pair.gradients.complete();
    EXPECT_EQ(pair.second(), 1);
  });
}

TEST(RankGradientsTest, BucketsAreRebuiltOnceInTheOrderOfRank0) {
  on_ranks(2, [](comm::Communicator& comm) {
    PairGradients pair(comm);
    pair.gradients.rebuild_buckets();
    EXPECT_FALSE(pair.gradients.log().has_rebuilt()) << "there is no order yet";
    pair.gradients.arm();
    // Rank 0 makes the gradient of `first` before that of `second`, and rank 1 the other way round.
    const Tensor losses[] = {sum(pair.module.first * 1), sum(pair.module.second * 1)};
    losses[comm.rank()].backward();
    losses[1 - comm.rank()].backward();
    pair.gradients.complete();
    pair.gradients.rebuild_buckets();
    EXPECT_TRUE(pair.gradients.log().has_rebuilt());
    std::vector<std::string> sent;
    pair.gradients.set_hook([&](comm::Communicator& group, const GradBucket& bucket) {
      sent.push_back(bucket.parameters.at(0));
      return allreduce_hook(group, bucket);
    });
    pair.gradients.arm();
    pair.module.both(1).backward();
    pair.gradients.complete();
    EXPECT_THAT(sent, ElementsAre("first", "second"));
  });
}

TEST(RankGradientsTest, AHookIsSetOnceAndNotDuringABackward) {
  on_ranks(1, [](comm::Communicator& comm) {
    PairGradients pair(comm);
    pair.gradients.arm();
    pair.module.both(1).backward();
    EXPECT_THAT(thrown_text([&] { pair.gradients.set_hook(allreduce_hook); }),
                HasSubstr("a backward is under way"));
    pair.gradients.complete();
    pair.gradients.set_hook(allreduce_hook);
    EXPECT_THAT(thrown_text([&] { pair.gradients.set_hook(allreduce_hook); }),
                HasSubstr("there is already a hook"));
  });
}

}  // namespace
}  // namespace tandem::parallel::test
