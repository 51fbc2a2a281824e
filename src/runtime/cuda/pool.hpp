// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>

#include "tandem/runtime/allocator.hpp"

#include "runtime/gpu/gpu_device.hpp"

namespace tandem::cuda {

/// Makes a memory pool of a GPU that keeps freed memory, and that all peers may read and write. A
/// GPU whose access the driver refuses is not a peer from then on.
cudaMemPool_t make_pool(int gpu);

/// Allocates and frees memory of a pool, in the order of the device's main stream or of the
/// MemoryOrder in place.
///
/// If the GPU is full, first releases the cached memory of all pools of its logical devices.
class PoolAllocator final : public SourceAllocator {
 public:
  /// @param device  outlives the allocator.
  PoolAllocator(const GpuDevice& device, cudaMemPool_t pool) noexcept
      : device_(device), pool_(pool) {}
  void* allocate(std::size_t nbytes, Category category) override;
  void deallocate(void* p, std::size_t nbytes, Category category) noexcept override;
  /// Frees in the order of another stream of the device.
  void deallocate(void* p, CUstream_st* order) noexcept;
  /// Number of allocations after which the pool held more of the GPU's memory than ever before.
  std::uint64_t system_calls() const noexcept override {
    return growths_.load(std::memory_order_relaxed);
  }
  void release_cached() noexcept override;

 private:
  cudaError_t try_allocate(void** p, std::size_t nbytes) noexcept;
  void note_growth() noexcept;

  const GpuDevice& device_;
  cudaMemPool_t pool_;
  std::atomic<std::uint64_t> growths_{0};
  std::atomic<std::uint64_t> reserved_{0};  // bytes, the largest value seen
};

/// Releases the cached memory of all pools of a GPU, after waiting for the streams that may use it.
void release_pools(int gpu);

}  // namespace tandem::cuda
