// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/kernels/kernel_scope.hpp"

#include <string_view>

#include "tandem/core/error.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/runtime.hpp"

namespace tandem::libtorch {
namespace {

/// @throws CommAborted  the call that the kernel belongs to was cancelled.
Stream& stream_of(int device) {
  const auto& abort = context().abort;
  if (abort != nullptr && abort->aborted()) throw CommAborted(abort->reason());
  return logical_device({DeviceType::cpu, device}).stream();
}

}  // namespace

const char* short_name(const char* op) {
  constexpr std::string_view kPrefix = "aten::";
  return op + (std::string_view(op).starts_with(kPrefix) ? kPrefix.size() : 0);
}

KernelScope::KernelScope(const char* name, int device)
    : work_{.name = name}, scope_(stream_of(device), work_) {}

}  // namespace tandem::libtorch
