// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>

#include "tandem/core/error.hpp"
#include "tandem/runtime/allocator.hpp"

namespace tandem::testing {

/// Refuses the allocation that `left` counts down to.
struct FailingAllocator : Allocator {
  FailingAllocator(Allocator& a, std::atomic<int>& n) : inner(a), left(n) {}
  void* allocate(std::size_t nbytes, Category category) override {
    if (left.fetch_sub(1) == 1) throw OutOfMemory("test", nbytes, 0, 0, {});
    return inner.allocate(nbytes, category);
  }
  void deallocate(void* p, std::size_t nbytes, Category category) noexcept override {
    inner.deallocate(p, nbytes, category);
  }
  Allocator& inner;
  std::atomic<int>& left;
};

}  // namespace tandem::testing
