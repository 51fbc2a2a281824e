// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/impl/LocalDispatchKeySet.h>

#include "tandem/runtime/dispatch.hpp"

#include "libtorch/device/backward_context.hpp"
#include "libtorch/device/device_memory.hpp"

namespace tandem::libtorch {

// A kernel of PyTorch that runs on a virtual device is a piece of this device's work, as a kernel
// of tandem is. So observers see it, deadlines count it, and a fault can be injected there. Views
// and empty tensors do nothing on a device and are none.

/// "tanh" of "aten::tanh"; "mine::tanh" of another library's. It is the end of the same text.
const char* short_name(const char* op);

/// A kernel runs on a virtual device until the end of the scope, on the calling thread.
class KernelScope {
 public:
  /// @param name  the op's. Observers keep the pointer: a literal, or part of an op's schema.
  KernelScope(const char* name, int device);

 private:
  BackwardScope backward_;
  Work work_;
  tandem::detail::WorkScope scope_;
};

/// A kernel of PyTorch for the host that runs on a virtual device, in the device's memory. Autocast
/// for the host's own tensors is none of its.
class HostKernelScope {
 public:
  /// @param name  see KernelScope.
  HostKernelScope(const char* name, int device) : kernel_(name, device), memory_(device) {}

 private:
  KernelScope kernel_;
  HostMemoryOf memory_;
  c10::impl::ExcludeDispatchKeyGuard no_autocast_{c10::autocast_dispatch_keyset};
};

}  // namespace tandem::libtorch
