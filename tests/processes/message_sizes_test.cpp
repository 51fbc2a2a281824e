// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Small messages go with their head, large ones when they are asked for, early ones by way of
// memory of the library.
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tandem/comm/group.hpp"
#include "tandem/tensor/factories.hpp"

#include "world_of_tests.hpp"

namespace tandem::comm::test {
namespace {

using namespace std::chrono_literals;

const std::vector<std::int64_t> kCounts{1, 65'535, 65'536, 65'537, 1'000'003, 7, 300'000};

/// Rank 0 sends one message of each size, which rank 1 asks for before or after they come.
void send_all(std::chrono::milliseconds sender_waits, std::chrono::milliseconds receiver_waits) {
  if (testing::test_world() == nullptr) GTEST_SKIP() << "it needs processes";
  world::World& world = *testing::test_world();
  const std::vector<Device> devices{{DeviceType::cpu, 0}};
  const auto ranks = make_group(devices, {.timeout = 20s, .world = &world});
  Communicator& own = *ranks.front();
  std::vector<Tensor> messages;
  std::vector<Handle> handles;
  const auto start_all = [&](auto start) {
    for (std::size_t i = 0; i < kCounts.size(); ++i) {
      messages.push_back(full({kCounts[i]}, own.rank() == 0 ? 1.5 + double(i) : 0));
      handles.push_back(start(messages.back()));
    }
  };
  if (own.rank() == 0) {
    std::this_thread::sleep_for(sender_waits);
    start_all([&](Tensor& x) { return own.start_send(x, 1); });
  } else if (own.rank() == 1) {
    std::this_thread::sleep_for(receiver_waits);
    start_all([&](Tensor& x) { return own.start_recv(x, 0); });
  }
  for (Handle& handle : handles)
    handle.wait();
  for (std::size_t i = 0; own.rank() == 1 && i < kCounts.size(); ++i)
    EXPECT_EQ(messages[i].to_host<float>(),
              std::vector<float>(static_cast<std::size_t>(kCounts[i]), 1.5F + float(i)));
  own.barrier();
}

TEST(MessageSizesTest, AskedForBeforeTheyCome) {
  send_all(100ms, 0ms);
}

TEST(MessageSizesTest, AskedForAfterTheyHaveCome) {
  send_all(0ms, 100ms);
}

TEST(MessageSizesTest, AtOnce) {
  for (int i = 0; i < 20; ++i)
    send_all(0ms, 0ms);
}

}  // namespace
}  // namespace tandem::comm::test
