// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/queued_work.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "tandem/core/error.hpp"

namespace tandem::comm {
namespace {

using Clock = std::chrono::steady_clock;

/// Entries from which those that have ended are looked for.
constexpr std::size_t kMany = 32;
constexpr auto kPollEvery = std::chrono::microseconds(50);

bool are_done(const QueuedWork::Events& events) {
  return std::ranges::all_of(events, [](const auto& event) { return event->query(); });
}

}  // namespace

void QueuedWork::add(Events ready, std::shared_ptr<const Event> ended) {
  entries_.push_back({std::move(ready), std::move(ended)});
  if (entries_.size() > kMany) drop_ended();
}

void QueuedWork::drop_ended() {
  while (!entries_.empty() && entries_.front().ended->query())
    entries_.pop_front();
}

bool QueuedWork::ends_within(Duration patience) noexcept {
  try {
    for (const auto end = Clock::now() + patience;;) {
      drop_ended();
      if (entries_.empty()) return true;
      if (Clock::now() > end) return false;
      std::this_thread::sleep_for(kPollEvery);
    }
  } catch (const Error&) {
    return false;
  }
}

bool QueuedWork::hangs(Duration patience) noexcept {
  if (ends_within(patience)) return false;
  try {
    return are_done(entries_.front().ready);
  } catch (const Error&) {
    return true;
  }
}

}  // namespace tandem::comm
