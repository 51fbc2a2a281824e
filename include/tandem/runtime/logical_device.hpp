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
class GpuDevice;

/// Libraries that keep state per device, such as handles, or primitives made for a shape.
enum class Library : std::uint8_t { onednn, cublaslt, cudnn };
inline constexpr int kLibraries = 3;
/// The largest number of states of a library that a device keeps.
inline constexpr int kKeptStates = 4;

/// The state that a library keeps between its calls on a device.
struct LibraryState {
  virtual ~LibraryState() = default;
};

/// A block of a device's memory that is in use.
struct Holding {
  const void* data;
  std::size_t nbytes;
  Category category;
  std::string module_path;                     ///< the module that allocated it; "": none
  std::shared_ptr<const ModuleShares> shares;  ///< who owns it; null: all is that module's
};

/// A logical device: its allocator with limit and statistics, its streams and its worker.
///
/// Lives until the program ends. Thread-safe.
class LogicalDevice {
 public:
  /// @param gpu  of a CUDA device, its GPU.
  /// @throws InvalidArgument  there is no such GPU.
  explicit LogicalDevice(Device device, int gpu = -1);
  ~LogicalDevice();

  Device device() const noexcept { return device_; }
  Stream& stream() noexcept { return stream_; }
  /// A stream for communication that runs beside the work of `stream()`. On the host the two behave
  /// alike.
  Stream& side_stream() noexcept { return side_stream_; }
  /// A stream for copies from the host that run beside the work of `stream()`; see upload.
  Stream& upload_stream() noexcept { return upload_stream_; }
  /// Null on the host.
  const GpuDevice* gpu() const noexcept { return gpu_.get(); }
  /// The device's worker. Its thread starts on first use.
  Worker& worker();

  MemoryStats memory_stats() const;
  /// All blocks in use, in no order. Adopted memory is not among them.
  ///
  /// @cost  a copy of a path for each block, under a lock.
  std::vector<Holding> holdings() const;
  void reset_peak() noexcept { statistics_->reset_peak(); }
  /// Sets the byte limit, and whether memory that is taken from now on has data.
  ///
  /// Memory without data is address space alone: it counts as any other, but nothing can be stored
  /// in it. Work that touches it is not carried out (see dispatch), and reading it throws NoData.
  /// Memory that is in use stays as it is. Must not be called while work runs on the device.
  void configure(const DeviceSpec& spec) noexcept;
  /// Whether new memory has data.
  bool has_data() const noexcept { return source_->gives_data(); }
  /// @param limit  bytes; SIZE_MAX: no limit. Bytes already in use stay allocated.
  void set_limit(std::size_t limit) noexcept { limit_->set_limit(limit); }
  std::size_t limit() const noexcept { return limit_->limit(); }
  /// Returns the kept free blocks to the system.
  void release_cached() noexcept { source_->release_cached(); }

  /// The name of the work that the device began last; for messages about a hung device.
  const char* last_work() const noexcept { return last_work_.load(std::memory_order_relaxed); }
  /// The number of pieces of work that the device has begun. It is approximate if several threads
  /// begin work at once.
  std::uint64_t works() const noexcept { return works_.load(std::memory_order_relaxed); }
  void note_work(const char* name) noexcept {
    last_work_.store(name, std::memory_order_relaxed);
    works_.store(works() + 1, std::memory_order_relaxed);
  }

  /// Puts a user's allocator in front of the device's own (for fault injection or tracing).
  ///
  /// Must not be called while memory is being allocated or freed.
  /// @param wrap  is given the device's own allocator, which outlives the one that it returns. An
  ///              empty function removes the wrapper.
  using Wrap = std::function<std::unique_ptr<Allocator>(Allocator&)>;
  void set_wrapper(const Wrap& wrap);

  /// Takes a library's state, without a lock, for use by one thread.
  ///
  /// @return  null if there is none, or if other threads have all of them: then make a fresh one.
  std::unique_ptr<LibraryState> take_library(Library library) noexcept;
  /// Puts a state back for the next call. Keeps kKeptStates of them, and destroys the others.
  void give_library(Library library, std::unique_ptr<LibraryState> state) noexcept;

 private:
  friend class Buffer;
  /// @throws OutOfMemory  it names the largest owners.
  void* allocate(std::size_t nbytes, Category category);
  void deallocate(void* p, std::size_t nbytes, Category category) noexcept;
  void add(Buffer& buffer);
  void remove(Buffer& buffer) noexcept;
  std::vector<OutOfMemory::Owner> largest_owners() const;

  Device device_;
  std::shared_ptr<GpuDevice> gpu_;
  Stream stream_;
  Stream side_stream_;
  Stream upload_stream_;
  // The chain, innermost first. Each allocator owns the one before it; chain_ owns statistics_.
  SourceAllocator* source_;
  LimitAllocator* limit_;
  StatisticsAllocator* statistics_;
  std::unique_ptr<Allocator> chain_;
  std::unique_ptr<Allocator> wrapper_;
  std::atomic<const char*> last_work_{"none"};
  std::atomic<std::uint64_t> works_{0};
  std::atomic<std::size_t> adopted_{0};  // bytes of buffers that have adopted their memory

  // By library, owned. Where threads share a device, each call would make and destroy a state.
  std::array<std::array<std::atomic<LibraryState*>, kKeptStates>, kLibraries> libraries_{};

  mutable std::mutex live_mutex_;  // guards live_
  Buffer* live_ = nullptr;         // intrusive list of buffers, to find the owners of memory
  std::mutex worker_mutex_;        // guards the start of worker_
  std::unique_ptr<Worker> worker_;
};

}  // namespace tandem
