// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tandem/core/error.hpp"
#include "tandem/runtime/allocator.hpp"
#include "tandem/runtime/device.hpp"
#include "tandem/runtime/stream.hpp"
#include "tandem/runtime/worker.hpp"

namespace tandem {

class Buffer;
namespace cuda {
class GpuDevice;
}

/// Most logical devices of a type.
inline constexpr int kMaxDevices = 64;

/// Libraries that keep state per device: handles, primitives made for a shape.
enum class Library : std::uint8_t { onednn, cublaslt, cudnn };
inline constexpr int kLibraries = 3;

/// What a library keeps between its calls on a device.
struct LibraryState {
  virtual ~LibraryState() = default;
};

/// Bytes of a device that are in use as one block.
struct Holding {
  const void* data;
  std::size_t nbytes;
  Category category;
  std::string module_path;                     ///< that allocated them; "": none
  std::shared_ptr<const ModuleShares> shares;  ///< whose they are; null: all that module's
};

/// A logical device: its allocator with limit and statistics, its streams, its worker.
///
/// Lives until the program ends. Thread-safe.
class LogicalDevice {
 public:
  /// @param gpu  where it is a GPU's: the GPU. @throws InvalidArgument  there is no such GPU.
  explicit LogicalDevice(Device device, int gpu = -1);
  ~LogicalDevice();

  Device device() const noexcept { return device_; }
  Stream& stream() noexcept { return stream_; }
  /// For communication beside the work of `stream()`; on the host as good as it.
  Stream& side_stream() noexcept { return side_stream_; }
  /// Null on the host.
  const cuda::GpuDevice* cuda() const noexcept { return gpu_.get(); }
  /// Starts the device's thread on first use.
  Worker& worker();

  MemoryStats memory_stats() const;
  /// All that is in use; in no order. @cost  a copy of a path for each block, under a lock.
  std::vector<Holding> holdings() const;
  void reset_peak() noexcept { statistics_->reset_peak(); }
  /// @param limit  bytes; SIZE_MAX for none. Bytes already in use stay.
  void set_limit(std::size_t limit) noexcept { limit_->set_limit(limit); }
  std::size_t limit() const noexcept { return limit_->limit(); }
  /// Gives kept free blocks back to the system.
  void release_cached() noexcept { source_->release_cached(); }

  /// Name of the work that the device began last; for messages about a hung one.
  const char* last_work() const noexcept { return last_work_.load(std::memory_order_relaxed); }
  /// Counts the pieces of work that it has begun; about, where several threads begin some at once.
  std::uint64_t works() const noexcept { return works_.load(std::memory_order_relaxed); }
  void note_work(const char* name) noexcept {
    last_work_.store(name, std::memory_order_relaxed);
    works_.store(works() + 1, std::memory_order_relaxed);
  }

  /// Puts an allocator of the user's between the limit and its callers (fault injection, tracing).
  ///
  /// Not while memory is being allocated or freed. @param wrap  gets the device's own allocator,
  /// which outlives what it returns; an empty function takes the wrapper off again.
  using Wrap = std::function<std::unique_ptr<Allocator>(Allocator&)>;
  void set_wrapper(const Wrap& wrap);

  /// Takes a library's state out, for the use of one thread, without a lock.
  ///
  /// @return null where there is none yet, or another thread has it: then make a fresh one.
  std::unique_ptr<LibraryState> take_library(Library library) noexcept;
  /// Puts it back for the next call; the one that lies there, if any, goes.
  void give_library(Library library, std::unique_ptr<LibraryState> state) noexcept;

 private:
  friend class Buffer;
  /// @throws OutOfMemory  with the largest owners named.
  void* allocate(std::size_t nbytes, Category category);
  void deallocate(void* p, std::size_t nbytes, Category category) noexcept;
  void add(Buffer& buffer);
  void remove(Buffer& buffer) noexcept;
  std::vector<OutOfMemory::Owner> largest_owners() const;

  Device device_;
  std::shared_ptr<cuda::GpuDevice> gpu_;
  Stream stream_;
  Stream side_stream_;
  // The chain, innermost first; each is owned by the one after it, `statistics_` by chain_.
  SourceAllocator* source_;
  LimitAllocator* limit_;
  StatisticsAllocator* statistics_;
  std::unique_ptr<Allocator> chain_;
  std::unique_ptr<Allocator> wrapper_;
  std::atomic<const char*> last_work_{"none"};
  std::atomic<std::uint64_t> works_{0};

  std::array<std::atomic<LibraryState*>, kLibraries> libraries_{};  // owned

  mutable std::mutex live_mutex_;  // guards live_
  Buffer* live_ = nullptr;         // intrusive list of buffers, for the owners of OutOfMemory
  std::mutex worker_mutex_;        // guards the start of worker_
  std::unique_ptr<Worker> worker_;
};

}  // namespace tandem
