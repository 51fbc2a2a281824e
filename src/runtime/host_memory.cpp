// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/host_memory.hpp"

#include <utility>

#include <sys/mman.h>

#include "tandem/core/error.hpp"
#include "tandem/runtime/context.hpp"

#include "runtime/gpu/gpu_backend.hpp"
#include "runtime/host_allocator.hpp"

namespace tandem {
namespace {

/// Pages of the address space that nothing may touch.
class ReservedPages final : public Allocator {
 public:
  explicit ReservedPages(std::string device) : device_(std::move(device)) {}

  void* allocate(std::size_t nbytes, Category) override {
    void* const p =
        mmap(nullptr, nbytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) throw OutOfMemory(device_, nbytes, 0, SIZE_MAX, {});
    return p;
  }
  void deallocate(void* p, std::size_t nbytes, Category) noexcept override { munmap(p, nbytes); }

 private:
  const std::string device_;
};

std::unique_ptr<SourceAllocator> stored_memory(const std::string& device) {
  if (gpu_backend().pins_host_memory()) return std::make_unique<HostAllocator>(device);
  return std::make_unique<CachingAllocator>(std::make_unique<SystemAllocator>(device));
}

}  // namespace

HostMemory::HostMemory(const std::string& device)
    : stored_(stored_memory(device)), reserved_(std::make_unique<ReservedPages>(device)) {}

void* HostMemory::allocate(std::size_t nbytes, Category category) {
  if (gives_data() || context().keeps_data) return stored_->allocate(nbytes, category);
  void* const p = reserved_.allocate(nbytes, category);
  try {
    const std::scoped_lock lock(mutex_);
    in_use_.insert(p);
    reserved_blocks_.store(in_use_.size(), std::memory_order_relaxed);
  } catch (...) {
    reserved_.deallocate(p, nbytes, category);
    throw;
  }
  return p;
}

void HostMemory::deallocate(void* p, std::size_t nbytes, Category category) noexcept {
  if (holds_data(p)) return stored_->deallocate(p, nbytes, category);
  {
    const std::scoped_lock lock(mutex_);
    in_use_.erase(p);
    reserved_blocks_.store(in_use_.size(), std::memory_order_relaxed);
  }
  reserved_.deallocate(p, nbytes, category);
}

void HostMemory::release_cached() noexcept {
  stored_->release_cached();
  reserved_.release_cached();
}

// Whoever asks has got `p` from allocate(), and so sees the count that it has stored.
bool HostMemory::holds_data(const void* p) const noexcept {
  if (reserved_blocks_.load(std::memory_order_relaxed) == 0) return true;
  const std::scoped_lock lock(mutex_);
  return !in_use_.contains(p);
}

}  // namespace tandem
