// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>

#include "tandem/runtime/device.hpp"

namespace tandem {

struct Work;

/// A function that is called before each piece of work. If it throws, the work is not done and the
/// exception propagates in its place. Tests use it to see how a program handles a failure. A
/// barrier can fail before this device has come to it, and not after: the others go on.
///
/// Called on the threads that do the work, on several at once.
using WorkFault = std::function<void(const Work& work, Device device)>;

/// Keeps a fault in place until it is destroyed. There may be one at a time. It must begin and end
/// while no step runs.
///
/// @cost  without a fault, one branch for each piece of work.
class WorkFaultScope {
 public:
  /// @throws InvalidArgument  a fault is in place already.
  explicit WorkFaultScope(WorkFault fault);
  ~WorkFaultScope();
  WorkFaultScope(const WorkFaultScope&) = delete;
  WorkFaultScope& operator=(const WorkFaultScope&) = delete;

  /// The fault that is in place; null if there is none.
  static const WorkFault* in_place() noexcept { return in_place_.load(std::memory_order_relaxed); }

 private:
  static std::atomic<const WorkFault*> in_place_;

  WorkFault fault_;
};

}  // namespace tandem
