// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// NCCL under a group: that it is what moves data, in every order of the GPUs' work; what it
// refuses.

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/comm/group.hpp"
#include "tandem/config.hpp"
#include "tandem/core/error.hpp"
#include "tandem/profile/step_record.hpp"

#include "comm/group.hpp"
#include "cuda/collectives.hpp"
#include "cuda/gpus.hpp"
#include "cuda/training.hpp"
#include "thrown_text.hpp"

namespace tandem::cuda::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::thrown_text;

/// One device on each of four GPUs.
class NcclTest : public BareTest {
 protected:
  NcclTest() {
    stand_in::set_gpus(4);
    configure_devices("cuda:0,cuda:1,cuda:2,cuda:3");
  }
  void SetUp() override {
    BareTest::SetUp();
    if (!has_nccl) GTEST_SKIP() << "there is no NCCL";
  }
};

TEST_F(NcclTest, EveryCollective) {
  testing::Group group = comm::make_group(default_devices(), kNccl);
  for (const std::int64_t n : {1, 50})
    for_each_seed([&](int) { check_collectives(group, n); });
}

TEST_F(NcclTest, EveryCollectiveOfGpusThatDoNotReachEachOther) {
  stand_in::set_peers(stand_in::Peers::none);
  testing::Group group = comm::make_group(default_devices(), kNccl);
  for_each_seed([&](int) { check_collectives(group, 50); });
}

TEST_F(NcclTest, MovesWhatItHasInPlaceOfKernels) {
  testing::Group group = comm::make_group(default_devices(), kNccl);
  std::vector<Tensor> x;
  for (const Device d : default_devices())
    x.push_back(tensor_of({1, 2, 3}, d));
  stand_in::reset();
  testing::run_ranks(group, [&](comm::Communicator& comm) {
    comm.all_reduce(x[static_cast<std::size_t>(comm.rank())]);
  });
  auto counts = stand_in::call_counts();
  EXPECT_EQ(counts["ncclAllReduce"], 4);
  EXPECT_EQ(counts["cudaLaunchKernel"], 0);
  EXPECT_EQ(x[3].to_doubles(), (Values{4, 8, 12}));
}

/// The group's calls by name while `f(comm)` runs on each rank.
template <class F>
std::map<std::string, int> calls_of(testing::Group& group, F f) {
  stand_in::reset();
  testing::run_ranks(group, f);
  return stand_in::call_counts();
}

TEST_F(NcclTest, EqualPartsAreOneCollective) {
  testing::Group group = comm::make_group(default_devices(), kNccl);
  auto counts = calls_of(group, [](comm::Communicator& comm) {
    const double r = comm.rank();
    const Tensor part = tensor_of({r, 10 + r}, comm.device());
    const Tensor whole = tensor_of(Values(8), comm.device());
    comm.all_gather(part, whole);
    EXPECT_EQ(whole.to_doubles(), (Values{0, 10, 1, 11, 2, 12, 3, 13}));
    const Tensor in_place = whole.narrow(0, 2 * comm.rank(), 2);
    comm.reduce_scatter(whole, in_place);
    EXPECT_EQ(in_place.to_doubles(), (Values{4 * r, 4 * (10 + r)}));
    comm.all_gather(in_place, whole);
    EXPECT_EQ(whole.to_doubles(), (Values{0, 40, 4, 44, 8, 48, 12, 52}));
    comm.reduce_scatter(whole, part, comm::premul_sum(1 + r));
    EXPECT_EQ(part.to_doubles(), (Values{40 * r, 10 * (40 + 4 * r)}));
  });
  EXPECT_EQ(counts["ncclAllGather"], 8);
  EXPECT_EQ(counts["ncclReduceScatter"], 8);
  EXPECT_EQ(counts["ncclBroadcast"] + counts["ncclReduce"] + counts["ncclSend"], 0);
}

TEST_F(NcclTest, PartsOfOtherSizesGoOneByOne) {
  testing::Group group = comm::make_group(default_devices(), kNccl);
  auto counts = calls_of(group, [](comm::Communicator& comm) {
    const double r = comm.rank();
    const Tensor part = tensor_of(comm.rank() == 0 ? Values{r, r} : Values{r}, comm.device());
    const Tensor whole = tensor_of(Values(5), comm.device());
    comm.all_gather(part, whole);
    EXPECT_EQ(whole.to_doubles(), (Values{0, 0, 1, 2, 3}));
    comm.reduce_scatter(whole, part);
    EXPECT_EQ(part.to_doubles(), (comm.rank() == 0 ? Values{0, 0} : Values{4 * r}));
  });
  EXPECT_EQ(counts["ncclAllGather"] + counts["ncclReduceScatter"], 0);
  EXPECT_EQ(counts["ncclBroadcast"], 16);
  EXPECT_EQ(counts["ncclReduce"], 16);
}

TEST_F(NcclTest, GroupsOfAWrapperWithTheSameMembersShareCommunicators) {
  for (const auto mode : {parallel::Mode::server, parallel::Mode::sharded}) {
    SCOPED_TRACE(name(mode));
    stand_in::reset();
    Training training(default_devices(), {.mode = mode, .backend = comm::Backend::nccl});
    for (int i = 0; i < 3; ++i)
      training.step_on_both();
    EXPECT_LE(training.gap(), 1e-12);
    EXPECT_EQ(stand_in::call_counts()["ncclCommInitRankConfig"], 4);
  }
}

TEST_F(NcclTest, TransportsThatAreNotUsedGiveTheirMemoryBackAndComeAgain) {
  const auto pair = [](int a, int b) { return std::vector{gpu(a), gpu(b)}; };
  const std::vector<std::vector<Device>> sets{
      pair(0, 1), pair(0, 2), pair(0, 3), pair(1, 2), pair(1, 3), pair(2, 3)};
  const std::size_t objects = objects_in_use();
  {
    comm::TransportCache cache;
    std::vector<testing::Group> groups;
    for (const auto& devices : sets)
      groups.push_back(comm::make_group(devices, kNccl, cache));
    EXPECT_EQ(stand_in::call_counts()["ncclCommDestroy"], 4) << "of the two oldest";
    for (std::size_t i = 0; i < sets.size(); ++i) {
      cache.use(sets[i], kNccl);
      testing::run_ranks(groups[i], [](comm::Communicator& comm) {
        const Tensor x = tensor_of({1, 2}, comm.device());
        comm.all_reduce(x);
        EXPECT_EQ(x.to_doubles(), (Values{2, 4}));
      });
    }
    EXPECT_EQ(stand_in::call_counts()["ncclCommInitRankConfig"], 2 * (6 + 6));
    EXPECT_EQ(stand_in::call_counts()["ncclCommAbort"], 0);
  }
  EXPECT_EQ(objects_in_use(), objects);
}

TEST_F(NcclTest, ItsCallsHaveTheTimesOfTheSideStreams) {
  testing::Group group = comm::make_group(default_devices(), kNccl);
  std::vector<Tensor> x;
  for (const Device d : default_devices())
    x.push_back(tensor_of({1, 2, 3}, d));
  const profile::StepRecord record = profile::record([&] {
    testing::run_ranks(group, [&](comm::Communicator& comm) {
      comm.all_reduce(x[static_cast<std::size_t>(comm.rank())]);
    });
  });
  EXPECT_TRUE(record.complete);
  ASSERT_EQ(record.side_work.size(), 4U);
  ASSERT_FALSE(record.transfers.empty());
  profile::Duration first = profile::Duration::max(), last{};
  for (const profile::SideSpan& s : record.side_work) {
    EXPECT_LT(s.begin, s.end);
    first = std::min(first, s.begin);
    last = std::max(last, s.end);
  }
  for (const profile::Transfer& t : record.transfers) {
    EXPECT_GE(t.begin, first);
    EXPECT_EQ(t.end, last);
  }
}

TEST_F(NcclTest, TrainsAsTheHostDoes) {
  for (const auto mode : {parallel::Mode::server, parallel::Mode::sharded, parallel::Mode::ddp}) {
    for (const auto peers : {stand_in::Peers::all, stand_in::Peers::none}) {
      SCOPED_TRACE(name(mode));
      stand_in::reset();
      stand_in::set_peers(peers);
      Training training(default_devices(), {.mode = mode, .backend = comm::Backend::nccl});
      for (int i = 0; i < 6; ++i)
        training.step_on_both();
      EXPECT_LE(training.gap(), 1e-12);
      EXPECT_GT(stand_in::call_counts()["ncclGroupEnd"], 6);
    }
  }
}

TEST_F(NcclTest, LaunchesThatWaitForTheirEndAreRefused) {
  setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
  EXPECT_THAT(thrown_text([] { comm::make_group(default_devices(), kNccl); }),
              AllOf(HasSubstr("CUDA_LAUNCH_BLOCKING=1"), HasSubstr("backend local")));
  EXPECT_NO_THROW(comm::make_group(std::vector{gpu(0)}, kNccl));
  unsetenv("CUDA_LAUNCH_BLOCKING");
  EXPECT_NO_THROW(comm::make_group(default_devices(), kNccl));
}

TEST_F(NcclTest, ARefusedCallIsNamedAndTheGroupCanBeResetAndUsed) {
  testing::Group group = comm::make_group(default_devices(), kNccl);
  const auto sum = [&] {
    std::vector<Values> results(4);
    testing::run_ranks(group, [&](comm::Communicator& comm) {
      const Tensor x = tensor_of({1, 2, 3}, comm.device());
      comm.all_reduce(x, comm::premul_sum(0.5));
      results[static_cast<std::size_t>(comm.rank())] = x.to_doubles();
    });
    return results;
  };
  stand_in::reset();
  sum();
  int refused = 0;
  for (const auto& [call, count] : stand_in::call_counts()) {
    if (!call.starts_with("nccl")) continue;
    for (int k = 1; k <= count; ++k) {
      SCOPED_TRACE(call + " number " + std::to_string(k));
      stand_in::reset();
      stand_in::fail_call(call, k, 999);
      const std::string text = thrown_text<DeviceError>(sum);
      stand_in::reset();
      EXPECT_THAT(text, AllOf(HasSubstr("NCCL"), HasSubstr(call), HasSubstr("NCCL_DEBUG=WARN")));
      group.front()->reset();
      EXPECT_EQ(sum(), (std::vector<Values>(4, Values{2, 4, 6})));
      ++refused;
    }
  }
  EXPECT_GE(refused, 4 + 4 + 1 + 1);
}

TEST_F(NcclTest, AGroupThatDoesNotComeUpIsRefused) {
  for (const char* call : {"ncclGetUniqueId", "ncclCommInitRankConfig", "ncclGroupEnd"}) {
    stand_in::reset();
    stand_in::fail_call(call, 1, 999);
    EXPECT_THAT(thrown_text<DeviceError>([] { comm::make_group(default_devices(), kNccl); }),
                AllOf(HasSubstr("NCCL"), HasSubstr(call)));
  }
}

class NcclOnSharedGpusTest : public GpusTest {};

TEST_F(NcclOnSharedGpusTest, TwoRanksOnOneAreRefusedByNameAtOnce) {
  if (!has_nccl) GTEST_SKIP() << "there is no NCCL";
  const std::vector<Device> devices{gpu(0), gpu(2), gpu(1)};
  const auto text =
      AllOf(HasSubstr("cuda:0 and cuda:1 are on one GPU"), HasSubstr("use backend local"));
  EXPECT_THAT(thrown_text([&] { comm::make_group(devices, kNccl); }), text);
  EXPECT_THAT(thrown_text([&] { Training(devices, {.backend = comm::Backend::nccl}); }), text);
  EXPECT_THAT(thrown_text([] { comm::make_group(std::vector<Device>{{}}, kNccl); }),
              HasSubstr("cpu:0 is not a GPU"));
}

}  // namespace
}  // namespace tandem::cuda::test
