// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/fault.hpp"

#include <utility>

#include "tandem/core/check.hpp"

namespace tandem {

std::atomic<const WorkFault*> WorkFaultScope::in_place_{nullptr};

WorkFaultScope::WorkFaultScope(WorkFault fault) : fault_(std::move(fault)) {
  const WorkFault* none = nullptr;
  TANDEM_CHECK(in_place_.compare_exchange_strong(none, &fault_),
               "WorkFaultScope: another fault is already in place; end that one first");
}

WorkFaultScope::~WorkFaultScope() {
  in_place_ = nullptr;
}

}  // namespace tandem
