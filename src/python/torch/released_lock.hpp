// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include "tandem/runtime/interrupt.hpp"

#include "python/torch/caller_context.hpp"

namespace tandem::python {

/// Runs f() without the interpreter's lock. If a signal's handler throws meanwhile, as that of
/// Ctrl-C does, the replicas stop and its exception is what the call ends with.
template <class F>
auto without_lock(CallerContext& caller, F&& f) {
  const auto wants_stop = [&] { return caller.has_signal(); };
  try {
    const nanobind::gil_scoped_release release;
    const InterruptScope scope(wants_stop);
    auto result = f();
    caller.rethrow_signal();
    return result;
  } catch (...) {
    caller.rethrow_signal();
    throw;
  }
}

}  // namespace tandem::python
