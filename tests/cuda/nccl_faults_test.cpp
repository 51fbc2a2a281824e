// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// How NCCL's communicators end, what happens to work that is under way then, and what two groups
// of the same GPUs do to each other.

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/comm/group.hpp"
#include "tandem/config.hpp"
#include "tandem/core/error.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/runtime/buffer.hpp"
#include "tandem/runtime/context.hpp"

#include "cuda/collectives.hpp"
#include "cuda/gpus.hpp"
#include "thrown_text.hpp"

namespace tandem::cuda::test {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::thrown_text;
using Clock = std::chrono::steady_clock;

/// One device on each of four GPUs.
class NcclFaultsTest : public BareTest {
 protected:
  NcclFaultsTest() {
    stand_in::set_gpus(4);
    configure_devices("cuda:0,cuda:1,cuda:2,cuda:3");
  }
  void SetUp() override {
    BareTest::SetUp();
    if (!has_nccl) GTEST_SKIP() << "there is no NCCL";
  }
  static testing::Group make_group() { return comm::make_group(default_devices(), kNccl); }
  /// A tensor of 1, 2, 3 on each device, whose values main streams have still to write.
  static std::vector<Tensor> late_tensors() {
    std::vector<Tensor> tensors;
    for (const Device d : default_devices()) {
      Tensor x = mul(tensor_of({1, 2, 3}, d), -1);
      for (int i = 0; i < 4; ++i)
        x.mul_(2);
      tensors.push_back(x.mul_(-1. / 16));
    }
    return tensors;
  }
  /// Queues the sum of `tensors` over the group, behind which main streams then wait.
  static void queue_sum(testing::Group& group, const std::vector<Tensor>& tensors) {
    testing::run_ranks(group, [&](comm::Communicator& comm) {
      comm.all_reduce(tensors[static_cast<std::size_t>(comm.rank())]);
    });
  }
  static void expect_sum(const std::vector<Tensor>& tensors) {
    for (const Tensor& x : tensors)
      EXPECT_EQ(x.to_doubles(), (Values{4, 8, 12})) << x.device();
  }
};

TEST_F(NcclFaultsTest, AGroupThatIsDroppedEndsWhatItHasQueued) {
  for_each_seed([](int) {
    const std::vector<Tensor> tensors = late_tensors();
    {
      testing::Group group = make_group();
      queue_sum(group, tensors);
    }
    expect_sum(tensors);
  });
}

TEST_F(NcclFaultsTest, ADroppedGroupLeavesNothing) {
  const std::size_t objects = objects_in_use();
  {
    testing::Group group = make_group();
    queue_sum(group, late_tensors());
    EXPECT_GT(stand_in::live_objects(), objects);
  }
  EXPECT_EQ(objects_in_use(), objects);
  EXPECT_EQ(stand_in::call_counts()["ncclCommAbort"], 0) << "it has not failed";
}

TEST_F(NcclFaultsTest, AGroupThatFailsEndsWhatItHasQueued) {
  testing::Group group = make_group();
  for_each_seed([&](int) {
    const std::vector<Tensor> tensors = late_tensors();
    queue_sum(group, tensors);
    group.front()->abort("the test says so");
    group.front()->reset();
    expect_sum(tensors);
  });
}

TEST_F(NcclFaultsTest, ACollectiveThatHangsIsEndedByTheFailureOfItsGroup) {
  testing::Group group = make_group();
  queue_sum(group, late_tensors());
  stand_in::set_peers(stand_in::Peers::hanging);
  const std::vector<Tensor> tensors = late_tensors();
  queue_sum(group, tensors);
  const auto start = Clock::now();
  {
    const ContextScope late([](Context& c) { c.deadline = Deadline(100ms); });
    EXPECT_THAT(thrown_text<Timeout>([&] { tensors[0].to_doubles(); }), HasSubstr("deadline"));
  }
  group.front()->abort("a rank came too late");
  stand_in::set_peers(stand_in::Peers::all);
  group.front()->reset();
  const std::vector<Tensor> again = late_tensors();
  queue_sum(group, again);
  const ContextScope soon([](Context& c) { c.deadline = Deadline(20s); });
  expect_sum(again);
  EXPECT_LT(Clock::now() - start, 20s);
}

TEST_F(NcclFaultsTest, ACollectiveThatHangsIsEndedByAReset) {
  testing::Group group = make_group();
  stand_in::set_peers(stand_in::Peers::hanging);
  queue_sum(group, late_tensors());
  stand_in::set_peers(stand_in::Peers::all);
  group.front()->reset();
  const std::vector<Tensor> again = late_tensors();
  queue_sum(group, again);
  const ContextScope soon([](Context& c) { c.deadline = Deadline(20s); });
  expect_sum(again);
}

TEST_F(NcclFaultsTest, ADroppedGroupWhoseCollectiveHangsIsAborted) {
  const std::vector<Tensor> tensors = late_tensors();
  {
    testing::Group group = make_group();
    stand_in::set_peers(stand_in::Peers::hanging);
    queue_sum(group, tensors);
    group.front()->abort("the test says so");
  }
  const ContextScope soon([](Context& c) { c.deadline = Deadline(20s); });
  tensors[0].to_doubles();
  EXPECT_EQ(stand_in::call_counts()["ncclCommAbort"], 4);
}

// NCCL's kernels of different groups must come to all GPUs in one order.
TEST_F(NcclFaultsTest, GroupsOfTheSameGpusAreQueuedOneAfterTheOther) {
  const std::vector<Device> some{gpu(0), gpu(1), gpu(2)};
  testing::Group whole = make_group(), part = comm::make_group(some, kNccl);
  const auto run = [&](int rank, const Tensor& x, const Tensor& y) {
    const ContextScope soon([](Context& c) { c.deadline = Deadline(10s); });
    const auto r = static_cast<std::size_t>(rank);
    comm::Handle first = whole[r]->start_all_reduce(x), second;
    if (r < part.size()) second = part[r]->start_all_reduce(y);
    first.wait();
    second.wait();
    EXPECT_EQ(x.to_doubles(), (Values{4, 8, 12})) << "rank " << rank;
    EXPECT_EQ(y.to_doubles(), r < part.size() ? (Values{3, 6, 9}) : (Values{1, 2, 3}));
  };
  for_each_seed([&](int) {
    if (HasFailure()) return;
    const std::vector<Tensor> x = late_tensors(), y = late_tensors();
    std::vector<std::thread> threads;
    for (int r = 0; r < 4; ++r) {
      threads.emplace_back([&, r] {
        try {
          run(r, x[static_cast<std::size_t>(r)], y[static_cast<std::size_t>(r)]);
        } catch (const std::exception& e) {
          ADD_FAILURE() << "rank " << r << ": " << e.what();
        }
      });
    }
    for (std::thread& t : threads)
      t.join();
  });
}

TEST_F(NcclFaultsTest, PeersThatChangeBytesAreRefused) {
  stand_in::set_peers(stand_in::Peers::wrong_bytes);
  EXPECT_THAT(thrown_text([] { make_group(); }),
              AllOf(HasSubstr("GPUs 0 and 1"), HasSubstr("NCCL_P2P_DISABLE=1")));
}

TEST_F(NcclFaultsTest, PeersThatHangAreRefused) {
  stand_in::set_peers(stand_in::Peers::hanging);
  EXPECT_THAT(thrown_text([] { make_group(); }),
              AllOf(HasSubstr("GPUs 0 and 1"), HasSubstr("NCCL_P2P_DISABLE=1")));
}

TEST_F(NcclFaultsTest, PeersThatChangeBytesAreNotUsedWhereNcclIsToldSo) {
  stand_in::set_peers(stand_in::Peers::wrong_bytes);
  setenv("NCCL_P2P_DISABLE", "1", 1);
  testing::Group group = make_group();
  for_each_seed([&](int) { check_collectives(group, 20); });
}

TEST_F(NcclFaultsTest, ACommunicatorGetsWhatPoolsKeep) {
  constexpr std::size_t kPool = std::size_t{8} << 20;
  stand_in::set_memory(kPool);
  for (int d = 0; d < 4; ++d)
    const Buffer kept(gpu(d), kPool, Category::activation);
  testing::Group group = make_group();
  const std::vector<Tensor> tensors = late_tensors();
  queue_sum(group, tensors);
  expect_sum(tensors);
}

TEST_F(NcclFaultsTest, ACommunicatorForWhichThereIsNoMemoryIsRefused) {
  { const testing::Group first = make_group(); }  // peers are known from here on
  stand_in::set_memory(1000);
  EXPECT_THAT(thrown_text<DeviceError>([] { make_group(); }),
              AllOf(HasSubstr("ncclCommInitRankConfig"), HasSubstr("out of memory")));
}

// NCCL says only that a call of CUDA's failed.
TEST_F(NcclFaultsTest, AGpuThatIsLostInNcclIsNamed) {
  testing::Group group = make_group();
  const std::vector<Tensor> tensors = late_tensors();
  stand_in::fail_call("ncclAllReduce", 1, 700);
  const auto errors = testing::outcomes(group, [&](comm::Communicator& comm) {
    comm.all_reduce(tensors[static_cast<std::size_t>(comm.rank())]);
  });
  int named = 0;
  for (const auto& error : errors) {
    const std::string text = describe(error);
    if (text.find("GPU 0") != std::string::npos && text.find("restart") != std::string::npos)
      ++named;
  }
  EXPECT_GE(named, 1);
}

}  // namespace
}  // namespace tandem::cuda::test
