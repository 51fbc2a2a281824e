// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdint>

#include "tandem/core/check.hpp"
#include "tandem/core/error.hpp"

#include "runtime/cuda/backend.hpp"
#include "runtime/cuda/check.hpp"
#include "runtime/cuda/pool.hpp"

namespace tandem::cuda {

int gpu_count() noexcept {
  static const int kCount = [] {
    int n = 0;
    const cudaError_t status = cudaGetDeviceCount(&n);
    forgive(status);  // no driver, or none that is new enough
    return status == cudaSuccess ? n : 0;
  }();
  return kCount;
}

void check_gpu(Device name, int gpu) {
  TANDEM_CHECK(
      gpu >= 0 && gpu < gpu_count(),
      "device ",
      name,
      ": there is no GPU ",
      gpu,
      "; this machine has ",
      gpu_count(),
      gpu_count() == 0 ? "; use cpu devices" : "; cuda:0x4 makes four logical devices of one GPU");
}

GpuDevice::GpuDevice(Device name, int gpu) : name_(name), gpu_(gpu) {
  check_gpu(name, gpu);
  activate();
  try {
    TANDEM_CUDA(cudaStreamCreateWithFlags(&main_, cudaStreamNonBlocking));
    TANDEM_CUDA(cudaStreamCreateWithFlags(&side_, cudaStreamNonBlocking));
    pool_ = make_pool(gpu);
  } catch (...) {
    release();
    throw;
  }
}

GpuDevice::~GpuDevice() {
  release();
}

// Statuses are not looked at: the driver may be gone already.
void GpuDevice::release() noexcept {
  const GpuScope scope(gpu_);
  if (pool_ != nullptr) forgive(cudaMemPoolDestroy(pool_));
  if (side_ != nullptr) forgive(cudaStreamDestroy(side_));
  if (main_ != nullptr) forgive(cudaStreamDestroy(main_));
}

void GpuDevice::activate() const {
  check_usable(gpu_);
  TANDEM_CUDA(cudaSetDevice(gpu_));
}

std::unique_ptr<SourceAllocator> GpuDevice::make_allocator() {
  return std::make_unique<PoolAllocator>(*this, pool_);
}

}  // namespace tandem::cuda
