// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include "tandem/runtime/context.hpp"

namespace tandem::autograd {

/// What is called around the backward of a part of a forward.
struct BackwardInterval {
  std::function<void()> begin;
  std::function<void()> end;
};

namespace detail {

/// Ops of this thread belong to an interval until the end of the scope.
class IntervalScope {
 public:
  explicit IntervalScope(BackwardInterval interval);

 private:
  ContextScope scope_;
};

}  // namespace detail

/// Calls `f()`. In each backward through ops that `f` records, calls `interval.begin` before the
/// first of them, and `interval.end` when the last of them has run and the leaves whose gradients
/// are complete by then have accumulated them.
///
/// Backward runs the ops of a device strictly from the latest to the earliest, so in between it
/// runs no other op that was recorded on this device by the same thread. Both are called on the
/// thread that runs the device's ops, in the context of the caller of backward; where `f` records
/// on several devices, once for each device's thread. Intervals may be nested. A backward that
/// fails does not call `end`. The second run of a checkpoint is part of the backward of its ops.
/// @return  what `f` returns.
template <class F>
decltype(auto) on_backward_interval(BackwardInterval interval, F&& f) {
  const detail::IntervalScope scope(std::move(interval));
  return std::forward<F>(f)();
}

}  // namespace tandem::autograd
