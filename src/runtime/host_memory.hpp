// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>

#include "tandem/runtime/allocator.hpp"

namespace tandem {

/// The source of a host device's memory: memory that stores data, or, while the device is
/// shape-only, reserved addresses that store nothing.
///
/// Reserved addresses are distinct and hold for views, and cost no memory. Whoever reads or writes
/// there all the same ends the program by SIGSEGV: a mistake must not pass as a wrong number.
class HostMemory final : public SourceAllocator {
 public:
  explicit HostMemory(const std::string& device);
  void* allocate(std::size_t nbytes, Category category) override;
  void deallocate(void* p, std::size_t nbytes, Category category) noexcept override;
  std::uint64_t system_calls() const noexcept override {
    return stored_->system_calls() + reserved_.system_calls();
  }
  void release_cached() noexcept override;
  bool gives_data() const noexcept override { return gives_data_.load(std::memory_order_relaxed); }
  void set_gives_data(bool gives_data) noexcept override {
    gives_data_.store(gives_data, std::memory_order_relaxed);
  }
  bool holds_data(const void* p) const noexcept override;

 private:
  std::unique_ptr<SourceAllocator> stored_;
  CachingAllocator reserved_;
  std::atomic<bool> gives_data_{true};
  mutable std::mutex mutex_;                     // guards in_use_
  std::unordered_set<const void*> in_use_;       // blocks of reserved_
  std::atomic<std::size_t> reserved_blocks_{0};  // size of in_use_: zero spares the look-up
};

}  // namespace tandem
