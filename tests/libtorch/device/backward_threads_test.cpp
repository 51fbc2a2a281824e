// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/device/backward_threads.hpp"

#include <atomic>
#include <chrono>
#include <latch>
#include <thread>

#include "libtorch/registered_devices.hpp"

namespace tandem::libtorch::test {
namespace {

using std::chrono::milliseconds;

class BackwardThreadsTest : public RegisteredDevicesTest {};

TEST_F(BackwardThreadsTest, AreWaitedForAtMostAsLongAsAsked) {
  const torch::Tensor x = torch::ones({2}, torch::TensorOptions(device(1)).requires_grad(true));
  const torch::Tensor y = x * 2;
  std::latch reached(1), is_free(1);
  std::atomic<bool> has_ended{false};
  y.register_hook([&](const torch::Tensor&) {
    reached.count_down();
    is_free.wait();
    has_ended = true;
  });
  std::thread program([&] { y.sum().backward(); });
  reached.wait();
  settle_backward_threads(registered_devices(), milliseconds(20));
  EXPECT_FALSE(has_ended);
  is_free.count_down();
  settle_backward_threads(registered_devices(), milliseconds(20'000));
  EXPECT_TRUE(has_ended);
  program.join();
}

}  // namespace
}  // namespace tandem::libtorch::test
