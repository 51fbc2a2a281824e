// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/allocator.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "tandem/core/error.hpp"

namespace tandem {
namespace {

/// The size class of `nbytes`: a multiple of an eighth of the power of two below it.
std::size_t size_class(std::size_t nbytes) noexcept {
  if (nbytes > SIZE_MAX / 2) return nbytes;  // rounding could wrap; the system refuses it anyway
  const std::size_t step = std::max(Allocator::kAlignment, std::bit_floor(nbytes) / 8);
  return (nbytes + step - 1) / step * step;
}

}  // namespace

void* SystemAllocator::allocate(std::size_t nbytes, Category) {
  const std::size_t rounded = (nbytes + kAlignment - 1) / kAlignment * kAlignment;
  const bool possible = nbytes <= static_cast<std::size_t>(PTRDIFF_MAX);
  void* p = possible ? std::aligned_alloc(kAlignment, rounded) : nullptr;
  if (p == nullptr) throw OutOfMemory(device_, nbytes, 0, SIZE_MAX, {});
  return p;
}

void SystemAllocator::deallocate(void* p, std::size_t, Category) noexcept {
  std::free(p);
}

CachingAllocator::~CachingAllocator() {
  release_cached();
}

void* CachingAllocator::allocate(std::size_t nbytes, Category category) {
  const std::size_t size = size_class(nbytes);
  {
    const std::scoped_lock lock(mutex_);
    const auto hit = free_.find(size);
    if (hit != free_.end() && !hit->second.empty()) {
      void* p = hit->second.back();
      hit->second.pop_back();
      return p;
    }
  }
  misses_.fetch_add(1, std::memory_order_relaxed);
  try {
    return upstream_->allocate(size, category);
  } catch (const OutOfMemory&) {
    release_cached();
    return upstream_->allocate(size, category);
  }
}

void CachingAllocator::deallocate(void* p, std::size_t nbytes, Category category) noexcept {
  const std::size_t size = size_class(nbytes);
  try {
    const std::scoped_lock lock(mutex_);
    free_[size].push_back(p);
  } catch (...) {  // no memory for the list: give the block back instead
    upstream_->deallocate(p, size, category);
  }
}

void CachingAllocator::release_cached() noexcept {
  const std::scoped_lock lock(mutex_);
  for (auto& [size, blocks] : free_) {
    for (void* p : blocks)
      upstream_->deallocate(p, size, Category::workspace);
  }
  free_.clear();
}

void* LimitAllocator::allocate(std::size_t nbytes, Category category) {
  const std::size_t limit = this->limit();
  // Not added before it is known to fit: a refused request must not make another thread's fail.
  std::size_t before = in_use_.load(std::memory_order_relaxed);
  do {
    if (before > limit || nbytes > limit - before)
      throw OutOfMemory(device_, nbytes, before, limit, {});
  } while (!in_use_.compare_exchange_weak(before, before + nbytes, std::memory_order_relaxed));
  try {
    return upstream_->allocate(nbytes, category);
  } catch (...) {
    in_use_.fetch_sub(nbytes, std::memory_order_relaxed);
    throw;
  }
}

void LimitAllocator::deallocate(void* p, std::size_t nbytes, Category category) noexcept {
  upstream_->deallocate(p, nbytes, category);
  in_use_.fetch_sub(nbytes, std::memory_order_relaxed);
}

void* StatisticsAllocator::allocate(std::size_t nbytes, Category category) {
  void* p = upstream_->allocate(nbytes, category);
  const std::scoped_lock lock(mutex_);
  ++stats_.allocations;
  stats_.in_use += nbytes;
  stats_.by_category[static_cast<std::size_t>(category)] += nbytes;
  if (stats_.in_use > stats_.peak) {
    stats_.peak = stats_.in_use;
    stats_.peak_by_category = stats_.by_category;
  }
  return p;
}

void StatisticsAllocator::deallocate(void* p, std::size_t nbytes, Category category) noexcept {
  {
    const std::scoped_lock lock(mutex_);
    stats_.in_use -= nbytes;
    stats_.by_category[static_cast<std::size_t>(category)] -= nbytes;
  }
  upstream_->deallocate(p, nbytes, category);
}

void StatisticsAllocator::recategorise(std::size_t nbytes, Category from, Category to) noexcept {
  const std::scoped_lock lock(mutex_);
  stats_.by_category[static_cast<std::size_t>(from)] -= nbytes;
  stats_.by_category[static_cast<std::size_t>(to)] += nbytes;
}

MemoryStats StatisticsAllocator::stats() const {
  const std::scoped_lock lock(mutex_);
  return stats_;
}

void StatisticsAllocator::reset_peak() noexcept {
  const std::scoped_lock lock(mutex_);
  stats_.peak = stats_.in_use;
  stats_.peak_by_category = stats_.by_category;
}

}  // namespace tandem
