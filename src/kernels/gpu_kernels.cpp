// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/gpu_kernels.hpp"

#include <atomic>

#include "tandem/config.hpp"
#include "tandem/core/check.hpp"

#include "kernels/cuda/cuda_kernels.hpp"

namespace tandem::kernels {
namespace {

std::unique_ptr<GpuKernels> make_own() {
  if constexpr (has_cuda) return std::make_unique<CudaKernels>();
  return nullptr;
}

/// Never destroyed: the one before may be in use.
std::atomic<GpuKernels*>& in_place() {
  static std::atomic<GpuKernels*> kernels{make_own().release()};
  return kernels;
}

}  // namespace

GpuKernels& gpu_kernels() {
  GpuKernels* const kernels = in_place().load(std::memory_order_acquire);
  TANDEM_ASSERT(kernels != nullptr, "a kernel of a GPU in a process without GPUs");
  return *kernels;
}

void register_gpu_kernels(std::unique_ptr<GpuKernels> kernels) {
  in_place().store(kernels.release(), std::memory_order_release);
}

}  // namespace tandem::kernels
