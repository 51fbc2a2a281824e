// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "tandem/runtime/device.hpp"

namespace tandem {

struct Work;

/// Looks at each piece of work before it is done; what it throws takes the work's place. For tests
/// of what a program does then.
///
/// Called by the devices' threads, several at once.
using WorkFault = std::function<void(const Work& work, Device device)>;

/// Keeps a fault in place; ends it when destroyed. One at a time, begun and ended while no step
/// runs.
///
/// @cost  without one: a branch for each piece of work.
class WorkFaultScope {
 public:
  /// @throws InvalidArgument  there is one already.
  explicit WorkFaultScope(WorkFault fault);
  ~WorkFaultScope();
  WorkFaultScope(const WorkFaultScope&) = delete;
  WorkFaultScope& operator=(const WorkFaultScope&) = delete;

 private:
  WorkFault fault_;
};

}  // namespace tandem
