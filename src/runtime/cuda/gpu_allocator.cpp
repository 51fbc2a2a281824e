// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/cuda/gpu_allocator.hpp"

#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

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
  if (nbytes <= most_cached_) return cached_.allocate(nbytes, category);
  return pool_->allocate(nbytes, category);
}

void GpuAllocator::deallocate(void* p, std::size_t nbytes, Category category) noexcept {
  if (nbytes <= most_cached_) return cached_.deallocate(p, nbytes, category);
  pool_->deallocate(p, nbytes, category);
}

void GpuAllocator::release_cached() noexcept {
  cached_.release_cached();
  pool_->release_cached();
}

}  // namespace tandem::cuda
