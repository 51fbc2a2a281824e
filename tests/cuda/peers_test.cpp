// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// GPUs that do not reach each other, or say so and do not: copies and collectives go over the host.

#include <chrono>

#include <gmock/gmock.h>

#include "tandem/comm/group.hpp"
#include "tandem/core/error.hpp"
#include "tandem/runtime/dispatch.hpp"

#include "cuda/collectives.hpp"
#include "cuda/gpus.hpp"
#include "thrown_text.hpp"

namespace tandem::cuda::test {
namespace {

using Clock = std::chrono::steady_clock;

class PeersTest : public BareTest {
 protected:
  static void check(stand_in::Peers answer) {
    stand_in::set_peers(answer);
    configure_devices("cuda:0x2,cuda:1x2");
    EXPECT_EQ(are_peers(0, 1), answer == stand_in::Peers::all);
    testing::Group group = comm::make_group(default_devices());
    for_each_seed([&](int s) {
      const std::vector<double> values = count_from(s, 2000);
      const Tensor x = tensor_of(values, gpu(0));
      const Tensor there = mul(x.to(gpu(1)).to(gpu(2)), 2).to(gpu(1));
      EXPECT_EQ(mul(there, 0.5).to_doubles(), values);
      check_collectives(group, 30);
    });
  }
};

TEST_F(PeersTest, ThatReachEachOther) {
  check(stand_in::Peers::all);
  EXPECT_EQ(stand_in::call_counts()["cudaMallocHost"], 0) << "nothing goes over the host";
}

TEST_F(PeersTest, ThatDoNot) {
  check(stand_in::Peers::none);
  EXPECT_EQ(stand_in::call_counts()["cudaMemcpyPeerAsync"], 0);
}

TEST_F(PeersTest, ThatAreNotToBeUsed) {
  setenv("TANDEM_NO_CUDA_PEERS", "1", 1);
  EXPECT_FALSE(are_peers(0, 1));
  EXPECT_FALSE(are_broken_peers(0, 1));
  EXPECT_TRUE(are_peers(1, 1));
}

TEST_F(PeersTest, ThatChangeBytes) {
  check(stand_in::Peers::wrong_bytes);
}

TEST_F(PeersTest, ThatHang) {
  const auto start = Clock::now();
  check(stand_in::Peers::hanging);
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(15));
}

// Each on its own GPU: small collectives go through one of them.
TEST_F(PeersTest, OfWhichNoneReachesAnother) {
  stand_in::set_gpus(3);
  stand_in::set_peers(stand_in::Peers::none);
  configure_devices("cuda:0,cuda:1,cuda:2");
  testing::Group group = comm::make_group(default_devices());
  for (const std::int64_t n : {1, 50, 20'000})  // the last one's collectives are large
    for_each_seed([&](int) { check_collectives(group, n); });
}

// As where a GPU has more peers than the driver opens.
TEST_F(PeersTest, OfWhichOneIsRefused) {
  stand_in::set_gpus(3);
  stand_in::refuse_peer(1, 0);
  configure_devices("cuda:0,cuda:1,cuda:2");
  EXPECT_TRUE(are_peers(0, 2));
  EXPECT_TRUE(are_peers(1, 2));
  EXPECT_FALSE(are_peers(0, 1));
  EXPECT_FALSE(are_broken_peers(0, 1)) << "nothing was wrong with a copy";
  testing::Group group = comm::make_group(default_devices());
  for_each_seed([&](int) { check_collectives(group, 20); });
}

TEST_F(PeersTest, StagedCopiesOfAnySizeAreWhole) {
  stand_in::set_peers(stand_in::Peers::none);
  configure_devices("cuda:0,cuda:1");
  constexpr std::int64_t kStage = (std::int64_t{4} << 20) / 8;  // elements
  for (const std::int64_t n : {kStage - 1, kStage, 2 * kStage + 3}) {
    const std::vector<double> values = count_from(1, n);
    EXPECT_EQ(tensor_of(values, gpu(0)).to(gpu(1)).to_doubles(), values) << n << " elements";
  }
}

TEST_F(PeersTest, StagedCopiesWaitForNothingAndShareTheirMemory) {
  stand_in::set_gpus(3);
  stand_in::set_peers(stand_in::Peers::none);
  configure_devices("cuda:0,cuda:1,cuda:2");
  constexpr std::int64_t kMany = (std::int64_t{6} << 20) / 8;  // more than is staged at once
  for_each_seed([&](int s) {
    Tensor x = tensor_of(count_from(s, kMany), gpu(0));
    Tensor y = tensor_of(count_from(-s, kMany), gpu(0));
    const Tensor near = empty({kMany}, {.dtype = DType::f64, .device = gpu(1)});
    const Tensor far = empty({kMany}, {.dtype = DType::f64, .device = gpu(2)});
    x.to(gpu(1));  // the trial of the peers, and the memory
    stand_in::reset();
    stand_in::set_peers(stand_in::Peers::none);
    copy_bytes(x.buffer(), 0, near.buffer(), 0, x.nbytes());
    copy_bytes(y.buffer(), 0, far.buffer(), 0, y.nbytes());
    x.fill_(-1);
    y.fill_(-1);
    auto counts = stand_in::call_counts();
    EXPECT_EQ(counts["cudaStreamQuery"] + counts["cudaEventQuery"], 0);
    EXPECT_EQ(counts["cudaMallocHost"], 0);
    EXPECT_EQ(near.to_doubles(), count_from(s, kMany));
    EXPECT_EQ(far.to_doubles(), count_from(-s, kMany));
  });
}

// Devices of one GPU share the memory of the host that copies go through.
TEST_F(PeersTest, AStagedCopyThatFailsLeavesTheMemoryToItsOwners) {
  stand_in::set_peers(stand_in::Peers::none);
  configure_devices("cuda:0x2,cuda:1");
  constexpr std::int64_t kElements = (std::int64_t{6} << 20) / 8;  // goes round
  const auto copy = [&](int from) {
    const Tensor x = tensor_of(count_from(from, kElements), gpu(from));
    return x.to(gpu(2));
  };
  copy(0);
  copy(1);
  stand_in::reset();
  copy(0);
  const auto counts = stand_in::call_counts();
  for (const char* call : {"cudaMemcpyAsync", "cudaEventRecord", "cudaStreamWaitEvent"}) {
    for (int k = 1; k <= counts.at(call); ++k) {
      SCOPED_TRACE(call + (" number " + std::to_string(k)));
      stand_in::reset();
      stand_in::set_peers(stand_in::Peers::none);
      stand_in::fail_call(call, k, 999);
      stand_in::seed(static_cast<std::uint64_t>(k));
      EXPECT_THAT(testing::thrown_text<DeviceError>([&] { copy(0); }), ::testing::HasSubstr(call));
      EXPECT_EQ(copy(1).to_doubles(), count_from(1, kElements));
      EXPECT_EQ(copy(0).to_doubles(), count_from(0, kElements));
    }
  }
}

TEST_F(PeersTest, CollectivesThatGoThroughTheHostSaySoOnce) {
  stand_in::set_peers(stand_in::Peers::none);
  configure_devices("cuda:0,cuda:1");
  testing::Group group = comm::make_group(default_devices());
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 2; ++i)
    check_collectives(group, 3);
  const std::string text = ::testing::internal::GetCapturedStderr();
  const std::string line = "GPUs 1 and 0 do not reach each other's memory";
  const auto at = text.find(line);
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_EQ(text.find(line, at + 1), std::string::npos) << text;
}

TEST_F(PeersTest, AProbeThatFailsSaysSoAndIsMadeAgain) {
  configure_devices("cuda:0,cuda:1");
  const std::size_t objects = stand_in::live_objects();
  for (const char* call : {"cudaDeviceCanAccessPeer",
                           "cudaStreamCreateWithFlags",
                           "cudaMemPoolCreate",
                           "cudaMallocFromPoolAsync",
                           "cudaMemcpyAsync",
                           "cudaMemcpyPeerAsync",
                           "cudaEventCreateWithFlags",
                           "cudaEventRecord",
                           "cudaStreamWaitEvent"}) {
    SCOPED_TRACE(call);
    stand_in::fail_call(call, 1, 999);
    EXPECT_THAT(testing::thrown_text<DeviceError>([] { are_peers(0, 1); }),
                ::testing::HasSubstr(call));
    EXPECT_EQ(stand_in::live_objects(), objects);
  }
  EXPECT_TRUE(are_peers(0, 1));
  EXPECT_EQ(stand_in::live_objects(), objects);
}

}  // namespace
}  // namespace tandem::cuda::test
