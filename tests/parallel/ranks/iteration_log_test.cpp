// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/ranks/iteration_log.hpp"

#include <thread>

#include <gmock/gmock.h>

#include "parallel/rank_program.hpp"

namespace tandem::parallel::test {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(IterationLogTest, SaysWhatIsReducedAndInWhichOrder) {
  on_ranks(2, [](comm::Communicator& comm) {
    const PairReplica pair(comm);
    IterationLog log(comm, pair.layout());
    const auto planned = plan_buckets(pair.layout(), 1, 1);
    log.note_planned(planned);
    log.note_reduction({1, 0});
    const DdpLoggingData data = log.data();
    EXPECT_EQ(data.world_size, 2);
    EXPECT_EQ(data.rank, comm.rank());
    EXPECT_EQ(data.num_parameter_tensors, 2);
    EXPECT_EQ(data.total_parameter_size_bytes, pair.layout().nbytes());
    EXPECT_EQ(data.bucket_sizes.size(), 2);
    EXPECT_EQ(data.bucket_sizes[0] + data.bucket_sizes[1], pair.layout().nbytes());
    EXPECT_EQ(data.iterations, 1);
    EXPECT_THAT(data.prev_iteration_grad_ready_order, ElementsAre("second", "first"));
    EXPECT_FALSE(data.has_rebuilt_buckets);
    EXPECT_THAT(data.rebuilt_bucket_sizes, IsEmpty());
  });
}

TEST(IterationLogTest, KnowsTheSizesOfRebuiltBucketsToo) {
  on_ranks(1, [](comm::Communicator& comm) {
    const PairReplica pair(comm);
    IterationLog log(comm, pair.layout());
    log.note_planned(plan_buckets(pair.layout(), 1, 1));
    log.note_rebuilt(plan_buckets(pair.layout(), 1 << 20, 1 << 20));
    EXPECT_TRUE(log.has_rebuilt());
    EXPECT_EQ(log.data().bucket_sizes.size(), 2);
    EXPECT_THAT(log.data().rebuilt_bucket_sizes, ElementsAre(pair.layout().nbytes()));
  });
}

TEST(IterationLogTest, TimesArePartsOfAnIterationAndTheirMean) {
  on_ranks(1, [](comm::Communicator& comm) {
    const PairReplica pair(comm);
    IterationLog log(comm, pair.layout());
    const auto iterate = [&](milliseconds forward) {
      log.begin_forward();
      std::this_thread::sleep_for(forward);
      log.end_forward();
      const auto launch = IterationLog::Clock::now();
      log.note_gradient();
      log.note_times(launch);
      return log.data().last;
    };
    const DdpTimes slow = iterate(milliseconds(8)), quick = iterate(milliseconds(0));
    EXPECT_GE(slow.forward_compute, milliseconds(8));
    EXPECT_GE(slow.backward_comm, slow.backward_compute_comm_overlap);
    const DdpTimes mean = log.data().avg;
    const auto wanted = (slow.forward_compute + quick.forward_compute) / 2;
    EXPECT_LE(std::chrono::abs(mean.forward_compute - wanted), std::chrono::nanoseconds(2));
  });
}

TEST(IterationLogTest, WithoutAReductionNothingWasSent) {
  on_ranks(1, [](comm::Communicator& comm) {
    const PairReplica pair(comm);
    IterationLog log(comm, pair.layout());
    log.begin_forward();
    log.end_forward();
    log.note_times(std::nullopt);
    EXPECT_EQ(log.data().last.backward_comm.count(), 0);
    EXPECT_EQ(log.data().last.backward_compute_comm_overlap.count(), 0);
  });
}

}  // namespace
}  // namespace tandem::parallel::test
