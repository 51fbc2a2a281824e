// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
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

/// A forward's context, in the backward that the calling thread works for: with its deadline, its
/// end and its phase.
std::shared_ptr<Context> forward_in_backward(const Context& forward);

/// Whether the calling thread works for a backward that no call of a wrapper has begun.
bool is_backward_outside_of_calls();

/// Whether a node of another backward of this thread has begun the one that it works for: a
/// re-entrant checkpoint does so.
bool is_backward_within_backward();

// Note [Failures in one backward over all devices]: PyTorch's engine runs the nodes of each device
// on a thread, and an exception on one of them stops nobody on the others: they begin no further
// node, but end the one that they are in. One that waits there for the replica that has failed
// would wait until its deadline. So its waits look at what the engine has noted of the backward.

/// Is set once a node of the backward that the calling thread works for has thrown, whatever it is:
/// a kernel, a hook, or an op of tandem. The engine has the exception by then, so that of a wait
/// that ends for this reason is dropped. Null: the thread works for no backward.
std::shared_ptr<const AbortToken> abort_of_backward();

}  // namespace tandem::libtorch
