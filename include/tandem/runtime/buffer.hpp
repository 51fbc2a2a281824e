// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tandem/runtime/device.hpp"
#include "tandem/runtime/logical_device.hpp"
#include "tandem/runtime/memory.hpp"
#include "tandem/runtime/transit.hpp"

namespace tandem {

class PartVersions;

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

  /// Writes to any of the bytes so far.
  std::uint64_t version() const noexcept { return version_.load(std::memory_order_relaxed); }
  /// Notes a write to bytes [begin, end).
  void bump_version(std::size_t begin = 0, std::size_t end = SIZE_MAX) noexcept;
  /// Makes each part count its own writes, so that tensors that share the buffer do not count as
  /// changed when another one is written. Before the first tensor uses the buffer.
  ///
  /// @param ends  of the parts, ascending; the first part begins at byte 0.
  void count_parts(std::vector<std::size_t> ends);
  bool counts_parts() const noexcept { return parts_ != nullptr; }
  /// The version of bytes [begin, end): it is another one after each write to a part that they
  /// touch. Without parts it is version().
  std::uint64_t version(std::size_t begin, std::size_t end) const noexcept;
  /// Makes `version` that of the part that has byte `begin`; of the whole buffer where there are no
  /// parts. For storage that takes over a tensor with its values.
  void set_version(std::size_t begin, std::uint64_t version) noexcept;
  /// Of all parts, in order. @cost  a read for each part.
  std::vector<std::uint64_t> part_versions() const;
  /// Sets those of all parts, as many as there are.
  void set_part_versions(const std::vector<std::uint64_t>& versions) noexcept;

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
  std::unique_ptr<PartVersions> parts_;  // null: the buffer counts as one
  mutable Transits transits_;
  std::shared_ptr<const std::string> owner_;  // module path at allocation
  std::shared_ptr<const ModuleShares> shares_;
  Buffer* next_ = nullptr;
  Buffer* previous_ = nullptr;
};

}  // namespace tandem
