// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "io/allocation_watch.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::size_t> largest{0};

}  // namespace

void* operator new(std::size_t nbytes) {
  std::size_t seen = largest.load(std::memory_order_relaxed);
  while (nbytes > seen && !largest.compare_exchange_weak(seen, nbytes, std::memory_order_relaxed)) {
  }
  if (void* p = std::malloc(nbytes)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept {
  std::free(p);
}
void operator delete(void* p, std::size_t) noexcept {
  std::free(p);
}

namespace tandem::testing {

void reset_largest_allocation() noexcept {
  largest.store(0, std::memory_order_relaxed);
}
std::size_t largest_allocation() noexcept {
  return largest.load(std::memory_order_relaxed);
}

}  // namespace tandem::testing
