// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <chrono>
#include <thread>

#include "tandem/runtime/context.hpp"
#include "tandem/runtime/logical_device.hpp"
#include "tandem/runtime/stream.hpp"

namespace tandem {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kSpin = std::chrono::microseconds(20);
constexpr auto kPoll = std::chrono::milliseconds(2);  // an abort token does not wake who waits

}  // namespace

Device Stream::device() const noexcept {
  return device_->device();
}

void Event::record(const Stream& stream) noexcept {
  stream.synchronize();
  const std::scoped_lock lock(mutex_);
  done_.store(true, std::memory_order_release);
  recorded_.notify_all();
}

void Event::wait(const char* op) const {
  for (const auto end = Clock::now() + kSpin; !query() && Clock::now() < end;)
    std::this_thread::yield();
  while (!query()) {
    check_alive(op);
    std::unique_lock lock(mutex_);
    recorded_.wait_until(
        lock, std::min(Clock::now() + kPoll, context().deadline), [&] { return query(); });
  }
}

}  // namespace tandem
