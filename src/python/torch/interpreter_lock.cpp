// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "python/torch/interpreter_lock.hpp"

namespace tandem::python {
namespace {

/// A thread's state in the interpreter, which stays until the thread ends.
class KeptState {
 public:
  KeptState() {
    if (PyGILState_GetThisThreadState() != nullptr) return;  // a thread of Python
    PyGILState_Ensure();
    state_ = PyEval_SaveThread();
  }
  ~KeptState() {
    if (state_ == nullptr || Py_IsInitialized() == 0) return;
    PyEval_RestoreThread(state_);
    PyGILState_Release(PyGILState_UNLOCKED);
  }
  KeptState(const KeptState&) = delete;
  KeptState& operator=(const KeptState&) = delete;

 private:
  PyThreadState* state_ = nullptr;
};

}  // namespace

InterpreterLock::InterpreterLock() {
  thread_local const KeptState kept;
  state_ = PyGILState_Ensure();
}

SharedObject share(nanobind::handle object) {
  Py_XINCREF(object.ptr());
  return {object.ptr(), [](PyObject* x) {
            if (x == nullptr || Py_IsInitialized() == 0) return;
            const InterpreterLock lock;
            Py_DECREF(x);
          }};
}

}  // namespace tandem::python
