// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "tandem/runtime/device.hpp"
#include "tandem/runtime/logical_device.hpp"
#include "tandem/runtime/memory.hpp"
#include "tandem/runtime/transit.hpp"

namespace tandem {

/// Bytes on one device: what tensors are views of.
///
/// Owned by shared_ptr; the bytes are not initialised. The data itself follows the rules of its
/// users; version and category are atomic.
class Buffer {
 public:
  /// @param nbytes  may be zero: then `data()` is null.
  /// @param shares  whose it is; null: the module's that is called.
  /// @throws OutOfMemory
  Buffer(Device device,
         std::size_t nbytes,
         Category category,
         std::shared_ptr<const ModuleShares> shares = nullptr);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  Device device() const noexcept { return device_->device(); }
  LogicalDevice& logical_device() const noexcept { return *device_; }
  void* data() const noexcept { return data_; }
  std::size_t nbytes() const noexcept { return nbytes_; }
  Category category() const noexcept { return category_.load(std::memory_order_relaxed); }
  /// Moves the bytes to another category in the statistics; owner thread only.
  void recategorise(Category category) noexcept;

  /// Counts writes, so that a tensor saved for backward notices a change.
  std::uint64_t version() const noexcept { return version_.load(std::memory_order_relaxed); }
  void bump_version() noexcept { version_.fetch_add(1, std::memory_order_relaxed); }

  /// Bytes that are on their way: work on them waits until they are there (dispatch).
  Transits& transits() const noexcept { return transits_; }

 private:
  friend class LogicalDevice;
  void notify(int kind, Category before) const noexcept;

  LogicalDevice* device_;
  void* data_ = nullptr;
  std::size_t nbytes_;
  std::atomic<Category> category_;  // another thread may read it for the owners of OutOfMemory
  std::atomic<std::uint64_t> version_{0};
  mutable Transits transits_;
  std::shared_ptr<const std::string> owner_;  // module path at allocation
  std::shared_ptr<const ModuleShares> shares_;
  Buffer* next_ = nullptr;
  Buffer* previous_ = nullptr;
};

}  // namespace tandem
