// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <vector>

#include <nanobind/nanobind.h>

#include "python/torch/interpreter_lock.hpp"

namespace tandem::python {

/// What a call's replicas share with the thread that makes it: its context variables
/// (contextvars), and the signals of the process, which Python handles on its main thread alone.
class CallerContext {
 public:
  /// On the caller's thread, with the interpreter's lock.
  explicit CallerContext(std::size_t replicas);

  /// The variables hold on this thread until the scope ends, which has the interpreter's lock.
  class Scope {
   public:
    Scope(CallerContext& caller, int replica);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    CallerContext& caller_;
    PyObject* context_;
  };

  /// Runs the handlers of signals that have come, on the caller's thread without the lock. If one
  /// has thrown, replicas that run Python get a KeyboardInterrupt.
  bool has_signal();
  /// Throws what a handler has thrown, if one has.
  void rethrow_signal() const;

 private:
  std::vector<SharedObject> contexts_;  // a copy each, since a context is entered by one thread
  std::set<unsigned long> threads_;     // that are in a scope; with the interpreter's lock
  std::optional<nanobind::python_error> signal_;
};

}  // namespace tandem::python
