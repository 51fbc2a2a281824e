// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <vector>

#include "tandem/autograd/backward_interval.hpp"

#include "autograd/node.hpp"

namespace tandem::autograd {

/// A part of a forward whose backward is told of. Ops know the innermost one by their context.
struct IntervalMark {
  BackwardInterval calls;
  std::shared_ptr<const IntervalMark> outer;  ///< null: none
};

/// Calls the intervals of the ops that one thread runs in a backward.
class IntervalCalls {
 public:
  /// @param nodes  that the thread will run.
  void expect(const std::vector<std::shared_ptr<Node>>& nodes);
  /// Calls what is to be called before the op runs.
  void enter(const Node& node);
  /// Calls what is to be called once the op has run.
  void leave(const Node& node);

 private:
  struct Progress {
    std::size_t ops = 0;
    std::size_t left = 0;
  };
  std::unordered_map<const IntervalMark*, Progress> intervals_;
};

}  // namespace tandem::autograd
