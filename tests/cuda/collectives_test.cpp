// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/collectives.hpp"

#include "tandem/comm/local.hpp"

#include "cuda/gpus.hpp"

namespace tandem::cuda::test {
namespace {

class CollectivesOnGpusTest : public GpusTest {
 protected:
  static void check(const std::vector<Device>& devices) {
    testing::Group group = comm::make_local(devices);
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

// What a rank does after it has let a collective go, without its result, comes after the
// collective's work all the same: here its memory is used again.
TEST_F(CollectivesOnGpusTest, MemoryOfACollectiveThatIsLetGoIsNotTouchedLater) {
  testing::Group group = comm::make_local(default_devices());
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

}  // namespace
}  // namespace tandem::cuda::test
