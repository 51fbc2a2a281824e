// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// GPUs that do not reach each other, or say so and do not: copies and collectives go over the host.

#include <chrono>

#include <gmock/gmock.h>

#include "tandem/comm/group.hpp"
#include "tandem/core/error.hpp"

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
    EXPECT_EQ(peers(0, 1), answer == stand_in::Peers::all);
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

TEST_F(PeersTest, ThatChangeBytes) {
  check(stand_in::Peers::wrong_bytes);
}

TEST_F(PeersTest, ThatHang) {
  const auto start = Clock::now();
  check(stand_in::Peers::hanging);
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(15));
}

// As where a GPU has more peers than the driver opens.
TEST_F(PeersTest, OfWhichOneIsRefused) {
  stand_in::set_gpus(3);
  stand_in::refuse_peer(1, 0);
  configure_devices("cuda:0,cuda:1,cuda:2");
  EXPECT_TRUE(peers(0, 2));
  EXPECT_TRUE(peers(1, 2));
  EXPECT_FALSE(peers(0, 1));
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
    EXPECT_THAT(testing::thrown_text<DeviceError>([] { peers(0, 1); }), ::testing::HasSubstr(call));
    EXPECT_EQ(stand_in::live_objects(), objects);
  }
  EXPECT_TRUE(peers(0, 1));
  EXPECT_EQ(stand_in::live_objects(), objects);
}

}  // namespace
}  // namespace tandem::cuda::test
