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

CallerContext::Scope::Scope(const CallerContext& caller, int replica)
    : context_(caller.contexts_.at(static_cast<std::size_t>(replica)).get()) {
  if (PyContext_Enter(context_) != 0) throw nb::python_error();
}

CallerContext::Scope::~Scope() {
  if (PyContext_Exit(context_) != 0) PyErr_Clear();
}

}  // namespace tandem::python
