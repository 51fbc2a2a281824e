// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "python/torch/caller_context.hpp"

namespace tandem::python {
namespace nb = nanobind;

CallerContext::CallerContext(std::size_t replicas) {
  for (std::size_t i = 0; i < replicas; ++i) {
    const nb::object copy = nb::steal(PyContext_CopyCurrent());
    if (!copy.is_valid()) throw nb::python_error();
    contexts_.push_back(share(copy));
  }
}

CallerContext::Scope::Scope(CallerContext& caller, int replica)
    : caller_(caller), context_(caller.contexts_.at(static_cast<std::size_t>(replica)).get()) {
  if (PyContext_Enter(context_) != 0) throw nb::python_error();
  caller_.threads_.insert(PyThread_get_thread_ident());
}

CallerContext::Scope::~Scope() {
  const unsigned long thread = PyThread_get_thread_ident();
  caller_.threads_.erase(thread);
  if (caller_.signal_) PyThreadState_SetAsyncExc(thread, nullptr);  // it may not have come yet
  if (PyContext_Exit(context_) != 0) PyErr_Clear();
}

bool CallerContext::has_signal() {
  const InterpreterLock lock;
  if (PyErr_CheckSignals() == 0) return false;
  signal_.emplace();
  for (const unsigned long thread : threads_)
    PyThreadState_SetAsyncExc(thread, PyExc_KeyboardInterrupt);
  return true;
}

void CallerContext::rethrow_signal() const {
  if (signal_) throw nb::python_error(*signal_);
}

}  // namespace tandem::python
