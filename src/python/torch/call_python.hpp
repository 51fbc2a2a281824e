// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/util/Exception.h>
#include <nanobind/nanobind.h>

#include "python/torch/caller_context.hpp"
#include "python/torch/interpreter_lock.hpp"
#include "python/torch/structure.hpp"

namespace tandem::python {

/// callable(*positional, **named).
inline nanobind::object call(nanobind::handle callable,
                             nanobind::handle positional,
                             nanobind::handle named) {
  const auto result = nanobind::steal(PyObject_Call(callable.ptr(), positional.ptr(), named.ptr()));
  if (!result.is_valid()) throw nanobind::python_error();
  return result;
}

/// Throws PyTorch's exception for a device that is out of memory, if the one that is being handled
/// is Python's form of it: so that a step can plan anew.
void rethrow_out_of_memory(const nanobind::python_error& error);

/// A replica's call into Python: f(its arguments), with the interpreter's lock and the caller's
/// context variables.
template <class F>
auto call_python(const Arguments& arguments, F&& f) {
  const InterpreterLock lock;
  try {
    const CallerContext::Scope scope(*arguments.caller, context().replica);
    return f(Structure::put_together(arguments));
  } catch (const nanobind::python_error& error) {
    rethrow_out_of_memory(error);
    throw;
  }
}

}  // namespace tandem::python
