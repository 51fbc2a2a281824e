// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <c10/util/ThreadLocalDebugInfo.h>

#include "tandem/runtime/context.hpp"

namespace tandem::libtorch {

/// While it lives, each backward of PyTorch that the calling thread begins takes this thread's
/// context with it, to the threads of PyTorch's engine (BackwardScope).
class CarriedContext {
 public:
  CarriedContext();

 private:
  c10::DebugInfoGuard guard_;
};

/// In this scope the calling thread has the context of the backward of PyTorch that it works for.
/// Outside of a backward nothing changes.
///
/// That is the context that was carried there, or that of a backward outside of all replicas. While
/// someone observes, the module path is the name of the node of PyTorch's graph that runs.
class BackwardScope {
 public:
  BackwardScope();

 private:
  std::optional<ContextScope> scope_;
};

}  // namespace tandem::libtorch
