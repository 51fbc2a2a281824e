// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/flight_recorder.hpp"

#include <algorithm>
#include <array>
#include <new>

namespace tandem::comm {
const char* name(FlightRecorder::State state) noexcept {
  constexpr std::array kNames{"started", "completed", "failed"};
  return kNames[static_cast<std::size_t>(state)];
}

void FlightRecorder::start(Entry entry) noexcept {
  entry.start = std::chrono::steady_clock::now();
  const std::scoped_lock lock(mutex_);
  const std::size_t place = count_++ % kEntries;
  if (place < ring_.size()) {
    ring_[place] = entry;
    return;
  }
  try {
    ring_.push_back(entry);
  } catch (const std::bad_alloc&) {
    --count_;  // it goes unrecorded
  }
}

void FlightRecorder::finish(const void* key, State state, Moment met, Moment end) noexcept {
  const std::scoped_lock lock(mutex_);
  const std::size_t kept = std::min(count_, ring_.size());
  for (std::size_t back = 1; back <= kept; ++back) {
    Entry& e = ring_[(count_ - back) % kEntries];
    if (e.key != key) continue;
    if (e.state != State::started) return;  // it has ended before
    e.state = state;
    e.met = met;
    e.end = end;
    return;
  }
}

std::vector<FlightRecorder::Entry> FlightRecorder::entries() const {
  const std::scoped_lock lock(mutex_);
  const std::size_t kept = std::min(count_, ring_.size());
  std::vector<Entry> list;
  list.reserve(kept);
  for (std::size_t i = count_ - kept; i < count_; ++i)
    list.push_back(ring_[i % kEntries]);
  return list;
}

}  // namespace tandem::comm
