// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/gpu/gpu_backend.hpp"

#include <atomic>
#include <utility>

#include "tandem/config.hpp"
#include "tandem/core/check.hpp"
#include "tandem/runtime/runtime.hpp"

#include "runtime/cuda/cuda_backend.hpp"
#include "runtime/gpu/no_gpus.hpp"

namespace tandem {
namespace {

std::unique_ptr<GpuBackend> make_own() {
  if constexpr (has_cuda) return std::make_unique<cuda::CudaBackend>();
  return std::make_unique<NoGpus>();
}

/// Null: the process has its own.
std::atomic<GpuBackend*> registered{nullptr};

}  // namespace

// None is ever destroyed: devices, which use them, live until the process ends.
GpuBackend& gpu_backend() noexcept {
  static GpuBackend& own = *make_own().release();
  GpuBackend* const other = registered.load(std::memory_order_acquire);
  return other != nullptr ? *other : own;
}

void register_gpu_backend(std::unique_ptr<GpuBackend> backend) {
  TANDEM_CHECK(Runtime::instance().made(DeviceType::cuda).empty(),
               "register_gpu_backend: devices of type cuda are in use; register before their first "
               "use");
  registered.store(backend.release(), std::memory_order_release);
}

}  // namespace tandem
