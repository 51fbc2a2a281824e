// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tandem/runtime/memory.hpp"

namespace tandem {

/// Allocates and frees memory of one device. Allocators compose: each wraps another, its upstream.
///
/// Thread-safe. Blocks are aligned to kAlignment.
class Allocator {
 public:
  static constexpr std::size_t kAlignment = 256;

  virtual ~Allocator() = default;
  /// @param nbytes  more than zero.
  /// @throws OutOfMemory  the bytes are not available; nothing has changed.
  virtual void* allocate(std::size_t nbytes, Category category) = 0;
  /// Frees what `allocate` returned. Takes the same size, and the block's present category.
  virtual void deallocate(void* p, std::size_t nbytes, Category category) noexcept = 0;
};

/// The source of a device's memory. It keeps free blocks and counts how often it asked the system.
class SourceAllocator : public Allocator {
 public:
  /// The number of calls that have reached the system's allocator so far.
  virtual std::uint64_t system_calls() const noexcept = 0;
  /// Returns the kept free blocks to the system.
  virtual void release_cached() noexcept = 0;
  /// Whether new blocks can store data. If not, they are address space alone.
  virtual bool gives_data() const noexcept { return true; }
  /// Does nothing for a source whose blocks always store data.
  virtual void set_gives_data(bool /*gives_data*/) noexcept {}
  /// Whether `p`, which `allocate` returned, can store data.
  virtual bool holds_data(const void* /*p*/) const noexcept { return true; }
};

/// Allocates host memory.
class SystemAllocator final : public Allocator {
 public:
  explicit SystemAllocator(std::string device) : device_(std::move(device)) {}
  void* allocate(std::size_t nbytes, Category category) override;
  void deallocate(void* p, std::size_t nbytes, Category category) noexcept override;

 private:
  std::string device_;
};

/// Keeps freed blocks and reuses them, so that a steady step never reaches the upstream.
///
/// Sizes are rounded up to one of eight classes per power of two, and to kAlignment. This wastes
/// at most 12.5 %, or less than kAlignment bytes if that is more.
class CachingAllocator final : public SourceAllocator {
 public:
  explicit CachingAllocator(std::unique_ptr<Allocator> upstream) : upstream_(std::move(upstream)) {}
  ~CachingAllocator() override;
  std::uint64_t system_calls() const noexcept override {
    return misses_.load(std::memory_order_relaxed);
  }
  void* allocate(std::size_t nbytes, Category category) override;
  void deallocate(void* p, std::size_t nbytes, Category category) noexcept override;
  void release_cached() noexcept override;

 private:
  std::unique_ptr<Allocator> upstream_;
  std::atomic<std::uint64_t> misses_{0};  // calls that went to the upstream
  std::mutex mutex_;                      // guards free_
  std::map<std::size_t, std::vector<void*>> free_;
};

/// Refuses allocations that would exceed a byte limit. The limit is exact to the byte.
class LimitAllocator final : public Allocator {
 public:
  LimitAllocator(std::unique_ptr<Allocator> upstream, std::string device)
      : upstream_(std::move(upstream)), device_(std::move(device)) {}
  void* allocate(std::size_t nbytes, Category category) override;
  void deallocate(void* p, std::size_t nbytes, Category category) noexcept override;
  /// @param limit  bytes; SIZE_MAX: no limit.
  void set_limit(std::size_t limit) noexcept { limit_.store(limit, std::memory_order_relaxed); }
  std::size_t limit() const noexcept { return limit_.load(std::memory_order_relaxed); }

 private:
  std::unique_ptr<Allocator> upstream_;
  std::string device_;
  std::atomic<std::size_t> limit_{SIZE_MAX};
  std::atomic<std::size_t> in_use_{0};
};

/// Counts bytes by category, and records the peak.
class StatisticsAllocator final : public Allocator {
 public:
  explicit StatisticsAllocator(std::unique_ptr<Allocator> upstream)
      : upstream_(std::move(upstream)) {}
  void* allocate(std::size_t nbytes, Category category) override;
  void deallocate(void* p, std::size_t nbytes, Category category) noexcept override;
  /// Moves bytes in use from one category to another.
  void recategorise(std::size_t nbytes, Category from, Category to) noexcept;
  MemoryStats stats() const;
  /// Sets the peak to what is in use now.
  void reset_peak() noexcept;

 private:
  std::unique_ptr<Allocator> upstream_;
  mutable std::mutex mutex_;  // guards stats_
  MemoryStats stats_;
};

}  // namespace tandem
