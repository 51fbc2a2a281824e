// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <nanobind/nanobind.h>

namespace tandem::python {

/// Holds the interpreter's lock, on any thread.
///
/// A thread keeps its state in the interpreter until it ends, so that it is made once, and what
/// Python keeps by thread stays from one call to the next.
class InterpreterLock {
 public:
  InterpreterLock();
  ~InterpreterLock() { PyGILState_Release(state_); }
  InterpreterLock(const InterpreterLock&) = delete;
  InterpreterLock& operator=(const InterpreterLock&) = delete;

 private:
  PyGILState_STATE state_;
};

/// A Python object that may be copied and dropped without the interpreter's lock.
using SharedObject = std::shared_ptr<PyObject>;

/// Holds on to an object. The caller has the interpreter's lock.
SharedObject share(nanobind::handle object);

}  // namespace tandem::python
