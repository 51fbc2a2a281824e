// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "autograd/backward_intervals.hpp"

#include <ranges>

namespace tandem::autograd {

namespace detail {

IntervalScope::IntervalScope(BackwardInterval interval)
    : scope_([&](Context& c) {
        c.interval = std::make_shared<const IntervalMark>(
            IntervalMark{std::move(interval), std::move(c.interval)});
      }) {}

}  // namespace detail

void BackwardIntervals::expect(const std::vector<std::shared_ptr<Node>>& nodes) {
  for (const auto& node : nodes) {
    for (const auto* mark = node->context->interval.get(); mark != nullptr;
         mark = mark->outer.get()) {
      Progress& progress = intervals_[mark];
      ++progress.ops;
      ++progress.left;
    }
  }
}

void BackwardIntervals::enter(const Node& node) {
  std::vector<const IntervalMark*> fresh;  // innermost first
  for (const auto* mark = node.context->interval.get(); mark != nullptr; mark = mark->outer.get()) {
    const Progress& progress = intervals_.at(mark);
    if (progress.left == progress.ops) fresh.push_back(mark);
  }
  for (const IntervalMark* mark : fresh | std::views::reverse)
    if (mark->calls.begin) mark->calls.begin();
}

void BackwardIntervals::leave(const Node& node) {
  for (const auto* mark = node.context->interval.get(); mark != nullptr; mark = mark->outer.get()) {
    if (--intervals_.at(mark).left == 0 && mark->calls.end) mark->calls.end();
  }
}

}  // namespace tandem::autograd
