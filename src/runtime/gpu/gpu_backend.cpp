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

/// Never destroyed: devices, which use it, live until the process ends.
std::atomic<GpuBackend*>& in_place() noexcept {
  static std::atomic<GpuBackend*> backend{make_own().release()};
  return backend;
}

}  // namespace

GpuBackend& gpu_backend() noexcept {
  return *in_place().load(std::memory_order_acquire);
}

void register_gpu_backend(std::unique_ptr<GpuBackend> backend) {
  TANDEM_CHECK(Runtime::instance().made(DeviceType::cuda).empty(),
               "register_gpu_backend: devices of type cuda are in use; register before their first "
               "use");
  in_place().store(backend.release(), std::memory_order_release);  // the one before may be in use
}

}  // namespace tandem
