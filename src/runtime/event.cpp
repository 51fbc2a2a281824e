// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/event.hpp"

#include <chrono>
#include <thread>

#include "tandem/runtime/context.hpp"
#include "tandem/runtime/stream.hpp"

#include "runtime/gpu/gpu_backend.hpp"

namespace tandem {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kYieldFor = std::chrono::microseconds(20);
constexpr auto kPoll = std::chrono::milliseconds(2);  // an abort token does not wake who waits

}  // namespace

Event::Event() = default;
Event::~Event() = default;

void Event::record(const Stream& stream) {
  if (stream.native() == nullptr) {
    native_.reset();
  } else {
    if (native_ == nullptr) native_ = gpu_backend().make_event();
    native_->record(stream);
  }
  const std::scoped_lock lock(mutex_);
  recorded_.store(true, std::memory_order_release);
  changed_.notify_all();
}

bool Event::query() const {
  if (!recorded_.load(std::memory_order_acquire)) return false;
  return native_ == nullptr || native_->is_done();
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
  if (native_ != nullptr) native_->wait(op);
}

void Event::wait(const Stream& stream, const char* op) const {
  if (stream.native() == nullptr) return wait(op);
  wait_recorded(op);
  if (native_ != nullptr) native_->wait(stream);
}

}  // namespace tandem
