// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// More elements than an int counts, between processes. Two of them take 8 GiB of memory or more, so
// this runs where TANDEM_TEST_LONG is set alone: ctest -C long.
#include <cstdlib>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "tandem/comm/group.hpp"
#include "tandem/tensor/factories.hpp"

#include "devices.hpp"
#include "world_of_tests.hpp"

namespace tandem::comm::test {
namespace {

constexpr std::int64_t kLargeCount = (std::int64_t{1} << 31) + 4096;

class LargeCountsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("TANDEM_TEST_LONG") == nullptr) GTEST_SKIP() << "TANDEM_TEST_LONG is not set";
    if (testing::test_world() == nullptr) GTEST_SKIP() << "it needs several processes";
    ranks = make_group(std::vector<Device>{{DeviceType::cpu, 0}},
                       {.timeout = std::chrono::minutes(10),
                        .backend = testing::backend(),
                        .world = testing::test_world()});
  }
  Communicator& comm() { return *ranks.front(); }
  static Tensor bytes(std::int64_t count, int value) {
    return full({count}, value, {.dtype = DType::u8, .device = {DeviceType::cpu, 0}});
  }
  /// Some elements at the begin, in the middle, behind 2^31, and at the end.
  static void expect_all(const Tensor& x, double value) {
    for (const std::int64_t at :
         {std::int64_t{0}, kLargeCount / 2, (std::int64_t{1} << 31) - 2, kLargeCount - 4})
      for (const double element : x.narrow(0, at, 4).to_doubles())
        EXPECT_EQ(element, value) << at;
  }

  std::vector<std::unique_ptr<Communicator>> ranks;
};

TEST_F(LargeCountsTest, AllReduce) {
  const Tensor x = bytes(kLargeCount, comm().rank() + 1);
  comm().all_reduce(x);
  expect_all(x, comm().size() * (comm().size() + 1) / 2);
}

TEST_F(LargeCountsTest, Broadcast) {
  const Tensor x = bytes(kLargeCount, comm().rank() + 1);
  comm().broadcast(x, 1);
  expect_all(x, 2);
}

TEST_F(LargeCountsTest, SendAndReceive) {
  const Tensor x = bytes(kLargeCount, comm().rank() + 1);
  if (comm().rank() == 0) comm().send(x, 1);
  if (comm().rank() == 1) comm().recv(x, 0);
  expect_all(x, comm().rank() == 1 ? 1 : comm().rank() + 1);
}

}  // namespace
}  // namespace tandem::comm::test
