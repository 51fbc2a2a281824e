// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/gpu_kernels.hpp"

#include <atomic>

#include "tandem/config.hpp"
#include "tandem/core/check.hpp"

#include "kernels/cuda/cuda_kernels.hpp"

namespace tandem::kernels {
namespace {

/// Never destroyed: those before may be in use.
std::atomic<RegisteredKernels*> registered{nullptr};

std::unique_ptr<GpuKernels> make_own() {
  if constexpr (has_cuda) return std::make_unique<CudaKernels>();
  return nullptr;
}

}  // namespace

GpuKernels& gpu_kernels() {
  static GpuKernels* const own = make_own().release();
  GpuKernels* const other = registered.load(std::memory_order_acquire);
  GpuKernels* const kernels = other != nullptr ? other : own;
  TANDEM_ASSERT(kernels != nullptr, "a kernel of a GPU in a process without GPUs");
  return *kernels;
}

RegisteredKernels& registered_kernels() {
  RegisteredKernels* const kernels = registered.load(std::memory_order_acquire);
  TANDEM_ASSERT(kernels != nullptr, "a registered kernel where none is");
  return *kernels;
}

void register_gpu_kernels(std::unique_ptr<RegisteredKernels> kernels) {
  registered.store(kernels.release(), std::memory_order_release);
}

}  // namespace tandem::kernels
