// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <string>

#include "tandem/core/check.hpp"
#include "tandem/core/error.hpp"

#include "runtime/cuda/backend.hpp"
#include "runtime/cuda/check.hpp"
#include "runtime/cuda/gpu_allocator.hpp"
#include "runtime/cuda/pool.hpp"

namespace tandem::cuda {
namespace {

/// What CUDA says of the machine's GPUs.
struct Machine {
  int gpus = 0;
  std::string reason;  // why there are none
};

/// "13.0" of 13000.
std::string version_text(int version) {
  return std::to_string(version / 1000) + '.' + std::to_string(version % 1000 / 10);
}

std::string versions() {
  int driver = 0, runtime = 0;
  forgive(cudaDriverGetVersion(&driver));
  forgive(cudaRuntimeGetVersion(&runtime));
  return (driver == 0 ? "no driver is installed"
                      : "the driver supports CUDA " + version_text(driver)) +
         ", tandem was built with CUDA " + version_text(runtime);
}

Machine look() {
  Machine machine;
  const cudaError_t status = cudaGetDeviceCount(&machine.gpus);
  forgive(status);
  if (status == cudaSuccess) return machine;
  machine.gpus = 0;
  if (status != cudaErrorNoDevice) {
    machine.reason = tandem::detail::concat(
        cudaGetErrorName(status), ", ", cudaGetErrorString(status), " (", versions(), ')');
  }
  return machine;
}

const Machine& machine() noexcept {
  static const Machine& machine = *new Machine(look());
  return machine;
}

bool has(cudaDeviceAttr attribute, int gpu) {
  int value = 0;
  TANDEM_CUDA(cudaDeviceGetAttribute(&value, attribute, gpu));
  return value != 0;
}

}  // namespace

int gpu_count() noexcept {
  return machine().gpus;
}

const std::string& no_gpu_reason() noexcept {
  return machine().reason;
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
      no_gpu_reason().empty() ? "" : "; CUDA says: ",
      no_gpu_reason(),
      gpu_count() == 0 ? "; use cpu devices" : "; cuda:0x4 makes four logical devices of one GPU");
}

GpuDevice::GpuDevice(Device name, int gpu) : name_(name), gpu_(gpu) {
  check_gpu(name, gpu);
  activate();
  if (!has(cudaDevAttrMemoryPoolsSupported, gpu)) {
    throw DeviceError("GPU " + std::to_string(gpu),
                      "cudaDeviceGetAttribute",
                      cudaErrorNotSupported,
                      "the GPU has no memory pools, as with some virtual GPUs; use cpu devices");
  }
  reads_pageable_ = has(cudaDevAttrPageableMemoryAccessUsesHostPageTables, gpu);
  try {
    TANDEM_CUDA(cudaStreamCreateWithFlags(&main_, cudaStreamNonBlocking));
    TANDEM_CUDA(cudaStreamCreateWithFlags(&upload_, cudaStreamNonBlocking));
    // The kernels of collectives are small, and all GPUs of a group wait for the last one: they do
    // not queue behind the blocks of a product.
    int least = 0, greatest = 0;
    TANDEM_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    TANDEM_CUDA(cudaStreamCreateWithPriority(&side_, cudaStreamNonBlocking, greatest));
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
  for (CUstream_st* const stream : {upload_, side_})
    if (stream != nullptr) forgive(cudaStreamDestroy(stream));
  if (main_ != nullptr) forgive(cudaStreamDestroy(main_));
}

void GpuDevice::activate() const {
  check_usable(gpu_);
  choose_gpu(gpu_);
}

std::unique_ptr<SourceAllocator> GpuDevice::make_allocator() {
  return std::make_unique<GpuAllocator>(*this, pool_);
}

}  // namespace tandem::cuda
