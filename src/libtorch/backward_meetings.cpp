// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/backward_meetings.hpp"

#include <cstddef>
#include <utility>

#include "tandem/core/check.hpp"
#include "tandem/core/error.hpp"

namespace tandem::libtorch {

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

void BackwardMeetings::await_all_left(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  if (left_.wait_for(lock, patience, [&] { return inside_ == 0; })) return;
  throw Timeout(tandem::detail::concat(
      "DataParallel: an earlier backward() of the wrapper's outputs still runs after ",
      patience.count(),
      " ms; call the wrapper when it has ended"));
}

}  // namespace tandem::libtorch
