// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/cuda/cuda_device.hpp"

#include <string>

#include "tandem/core/error.hpp"

#include "runtime/cuda/check.hpp"
#include "runtime/cuda/gpu_allocator.hpp"
#include "runtime/cuda/pool.hpp"

namespace tandem::cuda {
namespace {

bool has(cudaDeviceAttr attribute, int gpu) {
  int value = 0;
  TANDEM_CUDA(cudaDeviceGetAttribute(&value, attribute, gpu));
  return value != 0;
}

}  // namespace

CudaDevice::CudaDevice(Device name, int ordinal) : GpuDevice(name, ordinal) {
  activate();
  if (!has(cudaDevAttrMemoryPoolsSupported, ordinal)) {
    throw DeviceError("GPU " + std::to_string(ordinal),
                      "cudaDeviceGetAttribute",
                      cudaErrorNotSupported,
                      "the GPU has no memory pools, as with some virtual GPUs; use cpu devices");
  }
  const bool reads_pageable = has(cudaDevAttrPageableMemoryAccessUsesHostPageTables, ordinal);
  main_ = std::make_unique<DeviceStream>(ordinal, 0, reads_pageable);
  upload_ = std::make_unique<DeviceStream>(ordinal, 0, reads_pageable);
  // The kernels of collectives are small, and all GPUs of a group wait for the last one: they do
  // not queue behind the blocks of a product.
  int least = 0, greatest = 0;
  TANDEM_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  side_ = std::make_unique<DeviceStream>(ordinal, greatest, reads_pageable);
  pool_ = make_pool(ordinal);
}

// The status is not looked at: the driver may be gone already.
CudaDevice::~CudaDevice() {
  const GpuScope scope(ordinal());
  if (pool_ != nullptr) forgive(cudaMemPoolDestroy(pool_));
}

void CudaDevice::activate() const {
  use_gpu(ordinal());
}

std::unique_ptr<SourceAllocator> CudaDevice::make_allocator() {
  return std::make_unique<GpuAllocator>(*this, pool_);
}

}  // namespace tandem::cuda
