// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/cuda/pool.hpp"

#include "tandem/core/error.hpp"
#include "tandem/runtime/runtime.hpp"

#include "runtime/cuda/check.hpp"
#include "runtime/cuda/peers.hpp"
#include "runtime/gpu/driver_turn.hpp"
#include "runtime/gpu/gpu_backend.hpp"
#include "runtime/gpu/memory_order.hpp"

namespace tandem::cuda {
namespace {

/// Lets another GPU read and write the pool's memory. If the driver refuses, the two are not peers:
/// a GPU may have too many of them, or the other one may be another process's alone.
void open_to(cudaMemPool_t pool, int gpu, int other) {
  int can = 0;
  TANDEM_CUDA(cudaDeviceCanAccessPeer(&can, other, gpu));
  if (can == 0) return;
  const cudaMemAccessDesc access{{cudaMemLocationTypeDevice, other},
                                 cudaMemAccessFlagsProtReadWrite};
  const cudaError_t status = cudaMemPoolSetAccess(pool, &access, 1);
  if (status == cudaSuccess) return;
  forgive(status);
  check_context(gpu, "cudaMemPoolSetAccess");
  refuse_peers(gpu, other);
}

}  // namespace

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
    // Else an upload is given what the main stream is about to free, and waits for it.
    int none = 0;
    TANDEM_CUDA(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowInternalDependencies, &none));
    for (int other = 0; other < gpu_backend().count(); ++other)
      if (other != gpu) open_to(pool, gpu, other);
  } catch (...) {
    forgive(cudaMemPoolDestroy(pool));
    throw;
  }
  return pool;
}

cudaError_t PoolAllocator::try_allocate(void** p, std::size_t nbytes) noexcept {
  const MemoryOrder* const order = MemoryOrder::in_place();
  return cudaMallocFromPoolAsync(
      p, nbytes, pool_, (order != nullptr ? order->take() : device_.main_stream())->cuda());
}

void* PoolAllocator::allocate(std::size_t nbytes, Category) {
  device_.activate();
  void* p = nullptr;
  cudaError_t status = try_allocate(&p, nbytes);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    release_pools(device_.ordinal());
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
  deallocate(p, device_.main_stream()->cuda());
}

void PoolAllocator::deallocate(void* p, CUstream_st* order) noexcept {
  // After the driver's end there is nothing to free. Else the block is lost: whether a call that
  // fails has freed it is not known, and a second one might free what is another's by then.
  const GpuScope scope(device_.ordinal());
  forgive(cudaFreeAsync(p, order));
}

// What is freed in the stream's order can be given back when the stream has come to it.
void PoolAllocator::release_cached() noexcept {
  device_.main_stream()->drain();
  const DriverTurn turn;
  const GpuScope scope(device_.ordinal());
  forgive(cudaMemPoolTrimTo(pool_, 0));
}

void release_pools(int gpu) {
  for (LogicalDevice* const device : Runtime::instance().made(DeviceType::cuda)) {
    if (device->gpu()->ordinal() != gpu) continue;
    device->stream().synchronize("allocate");
    device->release_cached();
  }
}

void PoolAllocator::note_growth() noexcept {
  std::uint64_t now = 0;
  forgive(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReservedMemCurrent, &now));
  std::uint64_t most = reserved_.load(std::memory_order_relaxed);
  while (now > most) {
    if (!reserved_.compare_exchange_weak(most, now, std::memory_order_relaxed)) continue;
    growths_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
}

}  // namespace tandem::cuda
