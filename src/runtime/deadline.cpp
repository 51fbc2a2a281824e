// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/deadline.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <mutex>

#include "tandem/core/check.hpp"
#include "tandem/runtime/runtime.hpp"

namespace tandem {
namespace {

using Clock = std::chrono::steady_clock;

/// Parts of the patience after which the devices are looked at again.
constexpr int kLooks = 16;
/// A longer patience is cut to this, which can be added to a time point.
constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 365);

double seconds(Clock::duration time) {
  return std::round(std::chrono::duration<double>(time).count() * 10) / 10;
}

}  // namespace

struct Deadline::State {
  struct Watched {
    LogicalDevice* device;
    std::uint64_t works;      // that it had begun at the last look
    Clock::time_point since;  // of the last of them, or a little later
  };

  std::chrono::milliseconds patience;
  std::shared_ptr<State> outer;
  std::mutex mutex;  // guards watched, last
  std::vector<Watched> watched;
  Clock::time_point last = Clock::now();  // piece of work
  std::atomic<Clock::time_point> next_look{last};

  bool passed();
  void look(Clock::time_point now);
};

void Deadline::State::look(Clock::time_point now) {
  for (Watched& w : watched) {
    const std::uint64_t works = w.device->works();
    if (works == w.works) continue;
    w.works = works;
    w.since = last = now;
  }
}

bool Deadline::State::passed() {
  if (outer != nullptr && outer->passed()) return true;
  const auto now = Clock::now();
  if (now < next_look.load(std::memory_order_relaxed)) return false;
  const std::scoped_lock lock(mutex);
  look(now);
  const auto end = last + patience;
  next_look.store(std::min(now + patience / kLooks, std::max(end, now)), std::memory_order_relaxed);
  return now > end;
}

Deadline::Deadline(std::chrono::milliseconds patience, const std::vector<Device>& devices)
    : state_(std::make_shared<State>()) {
  state_->patience = std::clamp(patience, std::chrono::milliseconds(0), kLongest);
  for (const Device d : devices) {
    LogicalDevice& device = logical_device(d);
    state_->watched.push_back({&device, device.works(), state_->last});
  }
}

Deadline Deadline::within(const Deadline& outer) const {
  if (state_ == nullptr || outer.state_ == nullptr) return state_ == nullptr ? outer : *this;
  TANDEM_ASSERT(state_->outer == nullptr, "this deadline is already inside another one");
  state_->outer = outer.state_;
  return *this;
}

bool Deadline::passed() const {
  return state_ != nullptr && state_->passed();
}

std::string Deadline::describe() const {
  if (state_ == nullptr) return "";
  const std::scoped_lock lock(state_->mutex);
  const auto now = Clock::now();
  std::string text =
      detail::concat("no piece of work has ended for ", seconds(now - state_->last), " s");
  const char* before = ": ";
  for (const State::Watched& w : state_->watched) {
    text += detail::concat(before,
                           w.device->device(),
                           " has been in or after '",
                           w.device->last_work(),
                           "' for ",
                           seconds(now - w.since),
                           " s");
    before = ", ";
  }
  return text;
}

}  // namespace tandem
