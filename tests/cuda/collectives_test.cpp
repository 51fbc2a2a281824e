// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/collectives.hpp"

#include "tandem/comm/group.hpp"

#include "cuda/gpus.hpp"

namespace tandem::cuda::test {
namespace {

class CollectivesOnGpusTest : public GpusTest {
 protected:
  static void check(const std::vector<Device>& devices) {
    testing::Group group = comm::make_group(devices);
    for (const std::int64_t n : {1, 50})
      for_each_seed([&](int) { check_collectives(group, n); });
  }
};

TEST_F(CollectivesOnGpusTest, AllOfOneGpu) {
  check({gpu(0), gpu(1)});
}
TEST_F(CollectivesOnGpusTest, AllOfTwoGpus) {
  check({gpu(2), gpu(0)});
}
TEST_F(CollectivesOnGpusTest, AllOfLogicalDevicesOfTwoGpus) {
  check({gpu(0), gpu(1), gpu(2), gpu(3)});
}

TEST_F(CollectivesOnGpusTest, WaitsGrowAsTheRanksDo) {
  testing::Group group = comm::make_group(default_devices());
  std::vector<Tensor> x;
  for (const Device d : default_devices())
    x.push_back(tensor_of({1, 2, 3, 4}, d));
  for (int i = 0; i < 2; ++i) {  // the first one tries the peers
    stand_in::reset();
    testing::run_ranks(group, [&](comm::Communicator& comm) {
      comm.all_reduce(x[static_cast<std::size_t>(comm.rank())]);
    });
  }
  const int begin = 4 + 3, end = 3 + 4;  // through one side stream
  EXPECT_EQ(stand_in::call_counts()["cudaStreamWaitEvent"], begin + end);
  EXPECT_EQ(x[3].to_doubles(), (Values{16, 32, 48, 64}));
}

// What a rank does after it has let a collective go, without its result, comes after the
// collective's work all the same: here its memory is used again.
TEST_F(CollectivesOnGpusTest, MemoryOfACollectiveThatIsLetGoIsNotTouchedLater) {
  testing::Group group = comm::make_group(default_devices());
  for_each_seed([&](int) {
    testing::run_ranks(group, [](comm::Communicator& comm) {
      const TensorOptions options{.dtype = DType::f64, .device = comm.device()};
      Tensor x = full({100}, 1, options);
      comm::Handle handle = comm.start_all_reduce(x);
      comm.barrier();  // all have come
      handle = {};
      x = {};
      const Tensor other = full({100}, -1, options);
      EXPECT_EQ(other.to_doubles(), Values(100, -1)) << "rank " << comm.rank();
    });
  });
}

/// On each rank: a collective under way whose handle and memory go.
void let_go(comm::Communicator& comm) {
  Tensor x = full({100}, 1, {.dtype = DType::f64, .device = comm.device()});
  comm::Handle handle = comm.start_all_reduce(x);
  comm.barrier();
  handle = {};
}

// The same where a call that would have kept streams in order is refused.
void refuse_while_let_go(const std::vector<Device>& devices) {
  testing::Group group = comm::make_group(devices);
  const auto run = [&] {
    testing::outcomes(group, let_go);
    for (const Device d : devices) {
      const Tensor other = full({100}, -1, {.dtype = DType::f64, .device = d});
      logical_device(d).side_stream().synchronize();
      EXPECT_EQ(other.to_doubles(), Values(100, -1)) << d;
    }
    group.front()->reset();
  };
  run();
  stand_in::reset();
  run();
  const auto counts = stand_in::call_counts();
  for (const char* call : {"cudaEventRecord", "cudaStreamWaitEvent", "cudaLaunchKernel"}) {
    for (int k = 1; k <= counts.at(call); ++k) {
      SCOPED_TRACE(call + (" number " + std::to_string(k)));
      for_each_seed([&](int) {
        stand_in::fail_call(call, k, 999);
        try {
          run();
        } catch (const DeviceError&) {  // it was a call of the test's own
        }
        stand_in::reset();
      });
    }
  }
}

TEST_F(CollectivesOnGpusTest, MemoryOfACollectiveThatFailsIsNotTouchedLater) {
  refuse_while_let_go({gpu(0), gpu(1)});
}

TEST_F(CollectivesOnGpusTest, MemoryOfAStagedCollectiveThatFailsIsNotTouchedLater) {
  stand_in::set_peers(stand_in::Peers::none);
  EXPECT_FALSE(are_peers(0, 1));
  refuse_while_let_go({gpu(0), gpu(2)});
}

TEST_F(CollectivesOnGpusTest, AStagedReduceIsRightOrAnError) {
  stand_in::set_peers(stand_in::Peers::none);
  EXPECT_FALSE(are_peers(0, 1));
  testing::Group group = comm::make_group(std::vector{gpu(0), gpu(2)});
  const auto run = [&] {
    testing::outcomes(group, [](comm::Communicator& comm) {
      const Tensor x = full({100}, 1, {.dtype = DType::f64, .device = comm.device()});
      comm.reduce(x, comm::ReduceOp::sum, 0);
      EXPECT_EQ(x.to_doubles(), Values(100, comm.rank() == 0 ? 2 : 1));
    });
    group.front()->reset();
    stand_in::reset();
  };
  run();
  run();
  for (const char* call : {"cudaEventRecord", "cudaStreamWaitEvent"}) {
    for (int k = 1; k <= 12; ++k) {
      SCOPED_TRACE(call + (" number " + std::to_string(k)));
      for_each_seed([&](int) {
        stand_in::fail_call(call, k, 999);
        run();
      });
    }
  }
}

}  // namespace
}  // namespace tandem::cuda::test
