// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/interrupt.hpp"

#include <utility>

namespace tandem {
namespace {

constexpr auto kPause = std::chrono::milliseconds(100);

thread_local InterruptScope* innermost = nullptr;

}  // namespace

InterruptScope::InterruptScope(std::function<bool()> wants_stop)
    : wants_stop_(std::move(wants_stop)), outer_(std::exchange(innermost, this)) {}

InterruptScope::~InterruptScope() {
  innermost = outer_;
}

InterruptScope* InterruptScope::current() noexcept {
  return innermost;
}

bool InterruptScope::wants_stop() {
  const auto now = Clock::now();
  if (now < next_) return false;
  next_ = now + kPause;
  return wants_stop_();
}

}  // namespace tandem
