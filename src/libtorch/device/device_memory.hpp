// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Allocator.h>

#include "tandem/runtime/buffer.hpp"

namespace tandem::libtorch {

/// The index of the calling thread's current device.
int& current_device() noexcept;

/// PyTorch's allocator for virtual devices: each block is a Buffer of the current one.
///
/// Thread-safe. @throws c10::OutOfMemoryError  with the text of tandem's OutOfMemory.
c10::Allocator& device_allocator();

/// In this scope what PyTorch's kernels for the host allocate on the calling thread is a virtual
/// device's. Scopes nest.
class HostMemoryOf {
 public:
  explicit HostMemoryOf(int device) noexcept;
  ~HostMemoryOf();
  HostMemoryOf(const HostMemoryOf&) = delete;
  HostMemoryOf& operator=(const HostMemoryOf&) = delete;

 private:
  int before_;
};

/// Puts tandem's allocator in front of PyTorch's for the host. To be called once.
void take_host_allocator();
/// The allocator that take_host_allocator has put there.
c10::Allocator& host_allocator();

/// Throws the OutOfMemory that a virtual device has last answered PyTorch with, or the
/// TorchOutOfMemory of a GPU.
[[noreturn]] void throw_out_of_memory(Device device, const c10::Error& said);

/// The buffer of a block that one of these allocators gave; null if none did.
Buffer* buffer_at(const void* block);

}  // namespace tandem::libtorch
