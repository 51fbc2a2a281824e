// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/event.hpp"

#include <chrono>
#include <thread>

#include "tandem/config.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/stream.hpp"

#include "runtime/cuda/backend.hpp"

namespace tandem {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kYieldFor = std::chrono::microseconds(20);
constexpr auto kPoll = std::chrono::milliseconds(2);  // an abort token does not wake who waits

}  // namespace

Event::~Event() {
  if constexpr (has_cuda) cuda::destroy_event(native_, gpu_);
}

void Event::record(const Stream& stream) {
  if constexpr (has_cuda) {
    if (stream.native() != nullptr) {
      cuda::record_event(native_, gpu_, stream);
    } else {
      cuda::destroy_event(native_, gpu_);
      native_ = nullptr;
    }
  }
  const std::scoped_lock lock(mutex_);
  recorded_.store(true, std::memory_order_release);
  changed_.notify_all();
}

bool Event::query() const {
  if (!recorded_.load(std::memory_order_acquire)) return false;
  if constexpr (has_cuda) {
    if (native_ != nullptr) return cuda::event_done(native_, gpu_);
  }
  return true;
}

void Event::wait_recorded(const char* op) const {
  const auto recorded = [&] { return recorded_.load(std::memory_order_acquire); };
  for (const auto end = Clock::now() + kYieldFor; !recorded() && Clock::now() < end;)
    std::this_thread::yield();
  while (!recorded()) {
    check_alive(op);
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, Clock::now() + kPoll, recorded);
  }
}

void Event::wait(const char* op) const {
  wait_recorded(op);
  if constexpr (has_cuda) {
    if (native_ != nullptr) cuda::wait_event(native_, gpu_, op);
  }
}

void Event::wait(const Stream& stream, const char* op) const {
  if (stream.native() == nullptr) return wait(op);
  wait_recorded(op);
  if constexpr (has_cuda) {
    if (native_ != nullptr) cuda::stream_wait_event(stream, native_);
  }
}

}  // namespace tandem
