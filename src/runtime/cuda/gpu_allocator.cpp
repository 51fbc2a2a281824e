// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/cuda/gpu_allocator.hpp"

#include <cstdlib>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

#include "runtime/gpu/gpu_stream.hpp"
#include "runtime/gpu/memory_order.hpp"

namespace tandem::cuda {
namespace {

/// Bytes of the largest block that is kept. Tools that watch the driver's allocations, such as
/// compute-sanitizer, see every use of freed memory if nothing is kept.
std::size_t most_cached() {
  const char* const off = std::getenv("TANDEM_NO_CUDA_MEMORY_CACHING");
  return off != nullptr && std::string_view(off) == "1" ? 0 : std::size_t{16} << 20;
}

}  // namespace

GpuAllocator::GpuAllocator(const GpuDevice& device, cudaMemPool_t pool)
    : GpuAllocator(std::make_unique<PoolAllocator>(device, pool)) {}

GpuAllocator::GpuAllocator(std::unique_ptr<PoolAllocator> pool)
    : pool_(pool.get()), cached_(std::move(pool)), most_cached_(most_cached()) {}

void* GpuAllocator::allocate(std::size_t nbytes, Category category) {
  const MemoryOrder* const order = MemoryOrder::in_place();
  if (order != nullptr) return allocate_in_order(nbytes, category, order->give()->cuda());
  if (nbytes <= most_cached_) return cached_.allocate(nbytes, category);
  return pool_->allocate(nbytes, category);
}

void GpuAllocator::deallocate(void* p, std::size_t nbytes, Category category) noexcept {
  if (CUstream_st* const order = take_order(p)) return pool_->deallocate(p, order);
  if (nbytes <= most_cached_) return cached_.deallocate(p, nbytes, category);
  pool_->deallocate(p, nbytes, category);
}

void* GpuAllocator::allocate_in_order(std::size_t nbytes, Category category, CUstream_st* give) {
  void* const p = pool_->allocate(nbytes, category);
  try {
    const std::scoped_lock lock(mutex_);
    orders_.emplace(p, give);
    order_count_.store(orders_.size(), std::memory_order_relaxed);
  } catch (const std::bad_alloc&) {
    pool_->deallocate(p, give);
    throw;
  }
  return p;
}

CUstream_st* GpuAllocator::take_order(const void* p) noexcept {
  // Whoever frees a block of an order knows of its allocation, and so of the count.
  if (order_count_.load(std::memory_order_relaxed) == 0) [[likely]]
    return nullptr;
  const std::scoped_lock lock(mutex_);
  const auto found = orders_.extract(p);
  order_count_.store(orders_.size(), std::memory_order_relaxed);
  return found.empty() ? nullptr : found.mapped();
}

void GpuAllocator::release_cached() noexcept {
  cached_.release_cached();
  pool_->release_cached();
}

}  // namespace tandem::cuda
