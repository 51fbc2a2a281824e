// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tandem/runtime/device.hpp"
#include "tandem/runtime/dropped.hpp"
#include "tandem/runtime/integer_bounds.hpp"
#include "tandem/runtime/lending.hpp"
#include "tandem/runtime/logical_device.hpp"
#include "tandem/runtime/memory.hpp"
#include "tandem/runtime/transit.hpp"

namespace tandem {

class PartVersions;

/// Bytes on one device, which tensors are views of.
///
/// Owned by shared_ptr. The bytes are not initialised. Version and category are atomic; those who
/// use the data must synchronise their accesses to it.
class Buffer {
 public:
  /// @param nbytes  may be zero; then `data()` is null.
  /// @param shares  the modules that own it; null: the module that is being called.
  /// @throws OutOfMemory
  Buffer(Device device,
         std::size_t nbytes,
         Category category,
         std::shared_ptr<const ModuleShares> shares = nullptr);
  /// Without memory, as if it had been dropped.
  ///
  /// @param unit  what it would be dropped with, see Dropped.
  Buffer(Device device,
         std::size_t nbytes,
         Category category,
         std::shared_ptr<const ModuleShares> shares,
         std::shared_ptr<const std::string> unit);
  /// Adopts memory that tandem has not allocated. It counts in MemoryStats::adopted alone: its
  /// owner accounts for it, and no limit of the device holds for it.
  ///
  /// @param device  on the host.
  /// @throws InvalidArgument  `device` is a GPU. Then give_back is not called.
  Buffer(Device device, AdoptedMemory memory, Category category);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  Device device() const noexcept { return device_->device(); }
  LogicalDevice& logical_device() const noexcept { return *device_; }
  void* data() const noexcept { return data_; }
  std::size_t nbytes() const noexcept { return nbytes_; }
  Category category() const noexcept { return category_.load(std::memory_order_relaxed); }
  /// How the memory comes and goes while the buffer stays.
  Dropped& dropped() const noexcept { return dropped_; }
  bool is_dropped() const noexcept { return data_ == nullptr && nbytes_ > 0; }
  /// @param op    that is about to use the bytes.
  /// @param used  all buffers that the op uses.
  /// @throws InvalidArgument  it is dropped, and has no source. @throws  what the source throws.
  void check_awake(const char* op, std::span<const Buffer* const> used = {}) const {
    if (is_dropped()) [[unlikely]]
      dropped_.provide(op, used);
  }
  /// Whether the bytes are those that the program has computed. A buffer of a shape-only device has
  /// none, and one that work without data has written to has lost them.
  bool has_data() const noexcept { return has_data_.load(std::memory_order_relaxed); }
  /// Notes that what was to be written has not been computed.
  void lose_data() noexcept { has_data_.store(false, std::memory_order_relaxed); }
  /// @param op  that is about to read. @throws NoData  there is none; the text names `op`.
  void check_data(const char* op) const {
    if (!has_data()) [[unlikely]]
      refuse_read(op);
  }
  /// What it shares with other libraries.
  Lending& lending() noexcept { return lending_; }
  const Lending& lending() const noexcept { return lending_; }
  /// @param op  that is about to write. @throws InvalidArgument  the buffer is read-only.
  void check_writable(const char* op) const {
    if (lending_.is_read_only()) [[unlikely]]
      refuse_write(op);
  }
  /// Moves the bytes to another category in the statistics. Only the owner's thread may call it.
  void recategorise(Category category) noexcept;

  /// The number of writes so far, to any of the bytes.
  std::uint64_t version() const noexcept { return version_.load(std::memory_order_relaxed); }
  /// Notes a write to bytes [begin, end).
  void bump_version(std::size_t begin = 0, std::size_t end = SIZE_MAX) noexcept;
  /// Makes each part count its own writes, so that a write to one tensor does not mark the others
  /// that share the buffer as changed. Must be called before the first tensor uses the buffer.
  ///
  /// @param ends  where the parts end, ascending; the first part begins at byte 0.
  void count_parts(std::vector<std::size_t> ends);
  bool counts_parts() const noexcept { return parts_ != nullptr; }
  /// The version of bytes [begin, end). It changes with each write to a part that they touch.
  /// Without parts it is version().
  std::uint64_t version(std::size_t begin, std::size_t end) const noexcept;
  /// Sets the version of the part that holds byte `begin`; without parts, of the whole buffer. For
  /// storage that takes over a tensor with its values.
  void set_version(std::size_t begin, std::uint64_t version) noexcept;
  /// The versions of all parts, in order; without parts, only version().
  ///
  /// @cost  a read for each part.
  std::vector<std::uint64_t> part_versions() const;
  /// Sets the versions of all parts, in order. Does nothing without parts.
  void set_part_versions(const std::vector<std::uint64_t>& versions) noexcept;

  /// What is known of the integers in the buffer: nothing if it holds other numbers, if it has been
  /// written since they were noted, or if it is adopted or was ever lent: others write unseen.
  std::optional<IntegerBounds> integers() const noexcept;
  /// Notes the bounds of the integers that are in the buffer now. Nobody else may use the buffer
  /// meanwhile.
  void note_integers(const IntegerBounds& bounds) { integers_ = NotedIntegers{version(), bounds}; }

  /// The bytes that are in transit. Work on them waits until they have arrived (see dispatch).
  Transits& transits() const noexcept { return transits_; }

 private:
  friend class Dropped;
  friend class LogicalDevice;
  void notify(int kind, Category before) const noexcept;
  void take_memory();
  void give_memory_back() noexcept;
  void take_memory_of(Buffer& other) noexcept;
  std::string owners() const;
  [[noreturn]] void refuse_write(const char* op) const;
  [[noreturn]] void refuse_read(const char* op) const;

  LogicalDevice* device_;
  void* data_ = nullptr;
  std::size_t nbytes_;
  std::atomic<bool> has_data_{true};  // atomic: work on other devices may ask
  std::atomic<Category> category_;    // other threads read it to name the owners in OutOfMemory
  std::atomic<std::uint64_t> version_{0};
  std::unique_ptr<PartVersions> parts_;  // null: the buffer counts as one part
  struct NotedIntegers {
    std::uint64_t version;
    IntegerBounds bounds;
  };
  std::optional<NotedIntegers> integers_;
  Lending lending_;
  mutable Transits transits_;
  mutable Dropped dropped_;
  std::shared_ptr<const std::string> owner_;  // the module path at allocation
  std::shared_ptr<const ModuleShares> shares_;
  Buffer* next_ = nullptr;
  Buffer* previous_ = nullptr;
};

}  // namespace tandem
