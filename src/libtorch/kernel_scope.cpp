// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/kernel_scope.hpp"

#include <string_view>

#include "tandem/runtime/runtime.hpp"

namespace tandem::libtorch {

const char* short_name(const char* op) {
  constexpr std::string_view kPrefix = "aten::";
  return op + (std::string_view(op).starts_with(kPrefix) ? kPrefix.size() : 0);
}

KernelScope::KernelScope(const char* name, int device)
    : work_{.name = name}, scope_(logical_device({DeviceType::cpu, device}).stream(), work_) {}

}  // namespace tandem::libtorch
