// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/host_allocator.hpp"

#include <cstdlib>
#include <memory>
#include <utility>

#include <unistd.h>

#include "tandem/core/error.hpp"

#include "runtime/gpu/gpu_backend.hpp"

namespace tandem {
namespace {

/// Bytes from which pinning host memory pays: a copy of less goes through the driver's own stage.
constexpr std::size_t kLeastPinned = std::size_t{64} << 10;

/// Whole pages of the host's memory, pinned unless the system refuses.
class PinnedPages final : public Allocator {
 public:
  explicit PinnedPages(std::string device) : device_(std::move(device)) {}

  void* allocate(std::size_t nbytes, Category) override {
    const std::size_t rounded = (nbytes + page_ - 1) / page_ * page_;
    const bool possible = nbytes <= static_cast<std::size_t>(PTRDIFF_MAX);
    void* const p = possible ? std::aligned_alloc(page_, rounded) : nullptr;
    if (p == nullptr) throw OutOfMemory(device_, nbytes, 0, SIZE_MAX, {});
    if (gpu_backend().pin(p, rounded)) remember(p);
    return p;
  }
  void deallocate(void* p, std::size_t, Category) noexcept override {
    bool is_pinned = false;
    {
      const std::scoped_lock lock(mutex_);
      is_pinned = pinned_.erase(p) != 0;
    }
    if (is_pinned) gpu_backend().unpin(p);
    std::free(p);
  }

 private:
  void remember(const void* p) noexcept {
    try {
      const std::scoped_lock lock(mutex_);
      pinned_.insert(p);
    } catch (const std::bad_alloc&) {
      gpu_backend().unpin(const_cast<void*>(p));
    }
  }

  const std::string device_;
  const std::size_t page_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::mutex mutex_;                        // guards pinned_
  std::unordered_set<const void*> pinned_;  // blocks that the system has not refused to pin
};

}  // namespace

HostAllocator::HostAllocator(const std::string& device)
    : pageable_(std::make_unique<SystemAllocator>(device)),
      pinned_(std::make_unique<PinnedPages>(device)) {}

void* HostAllocator::allocate(std::size_t nbytes, Category category) {
  if (category != Category::input || nbytes < kLeastPinned || !gpu_backend().is_in_use())
    return pageable_.allocate(nbytes, category);
  void* const p = pinned_.allocate(nbytes, category);
  try {
    const std::scoped_lock lock(mutex_);
    in_use_.insert(p);
  } catch (...) {
    pinned_.deallocate(p, nbytes, category);
    throw;
  }
  return p;
}

void HostAllocator::deallocate(void* p, std::size_t nbytes, Category category) noexcept {
  bool is_pinned = false;
  if (nbytes >= kLeastPinned) {
    const std::scoped_lock lock(mutex_);
    is_pinned = in_use_.erase(p) != 0;
  }
  (is_pinned ? pinned_ : pageable_).deallocate(p, nbytes, category);
}

void HostAllocator::release_cached() noexcept {
  pageable_.release_cached();
  pinned_.release_cached();
}

}  // namespace tandem
