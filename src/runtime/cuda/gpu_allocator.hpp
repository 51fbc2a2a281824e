// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "tandem/runtime/allocator.hpp"

#include "runtime/cuda/pool.hpp"

namespace tandem::cuda {

/// The source of a GPU's memory: free blocks of up to 16 MiB are kept in front of the pool, so that
/// a steady step asks the driver for nothing.
///
/// A block that is freed may be given out at once: both happen in the order of the device's main
/// stream, as in the pool, and who uses a block on another stream has the main stream wait before
/// the block is freed. Larger blocks go to the pool, which cuts and joins them, so that rounding
/// wastes little; the kernels that fill them take longer than the driver. So does what is allocated
/// in a MemoryOrder, whatever its size: the driver knows which free memory other streams have done
/// with.
class GpuAllocator final : public SourceAllocator {
 public:
  /// @param device  outlives the allocator.
  GpuAllocator(const GpuDevice& device, cudaMemPool_t pool);
  void* allocate(std::size_t nbytes, Category category) override;
  void deallocate(void* p, std::size_t nbytes, Category category) noexcept override;
  /// Number of allocations after which the pool held more of the GPU's memory than ever before.
  std::uint64_t system_calls() const noexcept override { return pool_->system_calls(); }
  /// Waits up to two seconds for work that is before the frees in the main stream's order.
  void release_cached() noexcept override;

 private:
  explicit GpuAllocator(std::unique_ptr<PoolAllocator> pool);
  void* allocate_in_order(std::size_t nbytes, Category category, CUstream_st* give);
  /// In which order a block is to be given back, which is forgotten; null: in the main stream's.
  CUstream_st* take_order(const void* p) noexcept;

  PoolAllocator* pool_;  // owned by cached_
  CachingAllocator cached_;
  std::size_t most_cached_;                               // bytes of a block
  std::mutex mutex_;                                      // guards orders_
  std::unordered_map<const void*, CUstream_st*> orders_;  // of blocks of a MemoryOrder
  std::atomic<std::size_t> order_count_{0};
};

}  // namespace tandem::cuda
