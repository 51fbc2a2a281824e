// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/cuda/pool.hpp"

#include <vector>

#include "tandem/core/error.hpp"

#include "runtime/cuda/check.hpp"

namespace tandem::cuda {

cudaMemPool_t make_pool(int gpu) {
  cudaMemPoolProps props{};
  props.allocType = cudaMemAllocationTypePinned;
  props.handleTypes = cudaMemHandleTypeNone;
  props.location.type = cudaMemLocationTypeDevice;
  props.location.id = gpu;
  cudaMemPool_t pool = nullptr;
  TANDEM_CUDA(cudaMemPoolCreate(&pool, &props));
  try {
    std::uint64_t keep = UINT64_MAX;
    TANDEM_CUDA(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
    std::vector<cudaMemAccessDesc> peers;
    for (int other = 0; other < gpu_count(); ++other) {
      int can = 0;
      if (other != gpu) TANDEM_CUDA(cudaDeviceCanAccessPeer(&can, other, gpu));
      if (can != 0)
        peers.push_back({{cudaMemLocationTypeDevice, other}, cudaMemAccessFlagsProtReadWrite});
    }
    if (!peers.empty()) TANDEM_CUDA(cudaMemPoolSetAccess(pool, peers.data(), peers.size()));
  } catch (...) {
    cudaMemPoolDestroy(pool);
    throw;
  }
  return pool;
}

cudaError_t PoolAllocator::try_allocate(void** p, std::size_t nbytes) noexcept {
  return cudaMallocFromPoolAsync(p, nbytes, pool_, device_.main_stream());
}

void* PoolAllocator::allocate(std::size_t nbytes, Category) {
  device_.activate();
  void* p = nullptr;
  cudaError_t status = try_allocate(&p, nbytes);
  if (status == cudaErrorMemoryAllocation) {
    // What is freed may still wait for work in the stream.
    cudaGetLastError();
    synchronize(device_, device_.main_stream(), "allocate");
    release_cached();
    status = try_allocate(&p, nbytes);
  }
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw OutOfMemory(to_string(device_.name()), nbytes, 0, SIZE_MAX, {});
  }
  check(status, "cudaMallocFromPoolAsync");
  note_growth();
  return p;
}

void PoolAllocator::deallocate(void* p, std::size_t, Category) noexcept {
  // The status is not looked at: after the driver's end there is nothing to free.
  const GpuScope scope(device_.gpu());
  cudaFreeAsync(p, device_.main_stream());
}

void PoolAllocator::release_cached() noexcept {
  const GpuScope scope(device_.gpu());
  cudaMemPoolTrimTo(pool_, 0);
}

void PoolAllocator::note_growth() noexcept {
  std::uint64_t now = 0;
  if (cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReservedMemCurrent, &now) != cudaSuccess)
    return;
  std::uint64_t most = reserved_.load(std::memory_order_relaxed);
  while (now > most) {
    if (!reserved_.compare_exchange_weak(most, now, std::memory_order_relaxed)) continue;
    growths_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
}

}  // namespace tandem::cuda
