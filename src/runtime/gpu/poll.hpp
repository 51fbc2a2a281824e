// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include <sys/prctl.h>

#include "tandem/runtime/context.hpp"

namespace tandem {
namespace detail {

/// Lets the thread sleep for as short as it asks for, in a scope. Linux adds 50 us otherwise.
class ShortSleeps {
 public:
  ShortSleeps() : before_(prctl(PR_GET_TIMERSLACK)) { prctl(PR_SET_TIMERSLACK, 1000UL); }
  ~ShortSleeps() {
    if (before_ > 0) prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(before_));
  }
  ShortSleeps(const ShortSleeps&) = delete;
  ShortSleeps& operator=(const ShortSleeps&) = delete;

 private:
  int before_;  // ns
};

}  // namespace detail

/// Returns when `is_done()` does so with true. The host asks a GPU again and again instead of
/// sleeping in the driver, so that a deadline or an abort ends the wait.
///
/// Sleeps between two questions, an eighth of the time so far: whoever launches in the meantime
/// has the driver and the core to himself, and what is waited for is seen nearly at once.
/// @throws Timeout, CommAborted  the context's deadline passed, or the context was aborted.
template <class IsDone>
void poll(IsDone is_done, const char* op) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kShortest = std::chrono::microseconds(1);
  constexpr auto kLongest = std::chrono::microseconds(50);
  const auto start = Clock::now();
  std::optional<detail::ShortSleeps> sleeps;
  while (!is_done()) {
    check_alive(op);
    if (!sleeps) sleeps.emplace();
    const Clock::duration eighth = (Clock::now() - start) / 8;
    std::this_thread::sleep_for(std::clamp<Clock::duration>(eighth, kShortest, kLongest));
  }
}

}  // namespace tandem
