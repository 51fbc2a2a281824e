// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "autograd/interval_calls.hpp"

#include "tandem/autograd/tape_context.hpp"

namespace tandem::autograd {

void IntervalCalls::expect(const std::vector<std::shared_ptr<Node>>& nodes) {
  for (const auto& node : nodes) {
    for (const auto* mark = tape_context(*node->context).interval.get(); mark != nullptr;
         mark = mark->outer.get()) {
      Progress& progress = intervals_[mark];
      ++progress.ops;
      ++progress.left;
    }
  }
}

void IntervalCalls::enter(const Node& node) {
  std::vector<const IntervalMark*> fresh;  // innermost first
  for (const auto* mark = tape_context(*node.context).interval.get(); mark != nullptr;
       mark = mark->outer.get()) {
    const Progress& progress = intervals_.at(mark);
    if (progress.left == progress.ops) fresh.push_back(mark);
  }
  for (auto mark = fresh.rbegin(); mark != fresh.rend(); ++mark)
    if ((*mark)->calls.begin) (*mark)->calls.begin();
}

void IntervalCalls::leave(const Node& node) {
  for (const auto* mark = tape_context(*node.context).interval.get(); mark != nullptr;
       mark = mark->outer.get()) {
    if (--intervals_.at(mark).left == 0 && mark->calls.end) mark->calls.end();
  }
}

}  // namespace tandem::autograd
