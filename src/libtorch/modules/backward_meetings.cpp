// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/modules/backward_meetings.hpp"

#include <cstddef>
#include <thread>
#include <utility>

#include <c10/core/AutogradState.h>

#include "tandem/core/check.hpp"

#include "libtorch/device/backward_context.hpp"

namespace tandem::libtorch {
namespace {

/// An exception is on its way to the engine no longer than this.
constexpr auto kCauseGrace = std::chrono::milliseconds(500);
constexpr auto kCauseLook = std::chrono::microseconds(100);

}  // namespace

BackwardMeetings::Visit::Visit(BackwardMeetings& meetings, std::shared_ptr<RowGroup> group)
    : meetings_(meetings), group_(std::move(group)) {
  const std::scoped_lock lock(meetings_.mutex_);
  const auto inside = static_cast<std::size_t>(meetings_.inside_) + 1;
  meetings_.failed_.reserve(meetings_.failed_.size() + inside);  // so that no end of a visit throws
  ++meetings_.inside_;
}

BackwardMeetings::Visit::~Visit() {
  const std::scoped_lock lock(meetings_.mutex_);
  if (failed_) meetings_.failed_.push_back(std::move(group_));
  if (--meetings_.inside_ > 0) return;
  for (const auto& group : meetings_.failed_) {
    try {
      group->reset();
    } catch (...) {  // it refuses the next call, which resets it
    }
  }
  meetings_.failed_.clear();
  meetings_.left_.notify_all();
}

// The one thread would wait in the first replica's node for those that it is to run afterwards.
void BackwardMeetings::check_threads() {
  TANDEM_CHECK(c10::AutogradState::get_tls_state().get_multithreading_enabled(),
               "batch_norm: this backward of the wrapper's outputs runs all replicas on one thread "
               "(torch.autograd.set_multithreading_enabled(False)), but they wait for each other "
               "for the statistics of the whole batch; call backward where multithreading is "
               "enabled, or give the wrapper batch_norm=\"per_replica\", or let step compute the "
               "loss");
}

void BackwardMeetings::await_cause() {
  const auto noted = abort_of_backward();
  const auto end = std::chrono::steady_clock::now() + kCauseGrace;
  while (!noted->aborted() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(kCauseLook);
}

Desync BackwardMeetings::in_another_order(const Desync& e) {
  return Desync(tandem::detail::concat(
      e.what(),
      "; a backward of several forwards has reached an earlier one first, and devices went on in "
      "different orders: compute the losses in the order of their forwards, call backward for "
      "each, or let step compute them"));
}

void BackwardMeetings::await_all_left(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  if (left_.wait_for(lock, patience, [&] { return inside_ == 0; })) return;
  throw Timeout(tandem::detail::concat(
      "DataParallel: an earlier backward() of the wrapper's outputs still runs after ",
      patience.count(),
      " ms; call the wrapper when it has ended"));
}

}  // namespace tandem::libtorch
