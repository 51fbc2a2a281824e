// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "python/torch/interpreter_lock.hpp"

namespace tandem::python {

/// The context variables (contextvars) of the thread that makes a call, for its replicas.
class CallerContext {
 public:
  /// On the caller's thread, with the interpreter's lock.
  explicit CallerContext(std::size_t replicas);

  /// The variables hold on this thread until the scope ends, which has the interpreter's lock.
  class Scope {
   public:
    Scope(const CallerContext& caller, int replica);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    PyObject* context_;
  };

 private:
  std::vector<SharedObject> contexts_;  // a copy each, since a context is entered by one thread
};

}  // namespace tandem::python
