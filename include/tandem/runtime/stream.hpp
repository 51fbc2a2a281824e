// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "tandem/runtime/device.hpp"

// Forward declarations of CUDA's types, so that no public header includes CUDA's.
struct CUstream_st;
struct CUevent_st;

namespace tandem {

class LogicalDevice;

/// An ordered queue of a device's work.
///
/// A host device's stream runs inline: work is done when `dispatch` returns. A GPU's stream is
/// asynchronous: work is done after `synchronize`, or after a `read` of its result.
class Stream {
 public:
  /// @param native  the CUDA stream; null on the host.
  explicit Stream(LogicalDevice& device, CUstream_st* native = nullptr) noexcept
      : device_(&device), native_(native) {}
  LogicalDevice& logical_device() const noexcept { return *device_; }
  Device device() const noexcept;
  CUstream_st* native() const noexcept { return native_; }
  /// Waits for all work queued so far.
  ///
  /// @param op  the name that errors give.
  /// @throws DeviceError  the work failed.
  /// @throws Timeout, CommAborted  the caller's context ends the wait (deadline, abort token).
  void synchronize(const char* op = "synchronize") const;

 private:
  LogicalDevice* device_;
  CUstream_st* native_;
};

/// Which of an op's kernels run. All give the same values except for rounding.
enum class KernelPath : std::uint8_t {
  fastest,  ///< a library's kernel if there is one for the type and the machine
  native,   ///< tandem's own kernel, which the others are tested against
};

/// What a host kernel is given: its device, how many threads it may use, and which path to take.
struct HostStream {
  Device device;
  int threads = 1;
  KernelPath path = KernelPath::fastest;
};

/// How exact products of f32 matrices are (PyTorch's torch.set_float32_matmul_precision).
enum class MatmulPrecision : std::uint8_t {
  highest,  ///< factors keep all bits of f32
  high,     ///< a GPU may round factors to TF32 (ten bits of mantissa); sums are in f32
};

/// The precision for the whole process; `highest` unless set. The host always uses full f32.
///
/// Thread-safe.
MatmulPrecision get_float32_matmul_precision() noexcept;
void set_float32_matmul_precision(MatmulPrecision precision) noexcept;

/// What a CUDA kernel is given: its device, the CUDA stream to launch on, and which path to take.
struct CudaStream {
  Device device;
  CUstream_st* native = nullptr;
  KernelPath path = KernelPath::fastest;
  MatmulPrecision precision = MatmulPrecision::highest;
};

/// A point in a stream that other streams and threads can wait for.
///
/// Thread-safe: one thread records it, and any thread may wait for it. It may be recorded again
/// only when nobody waits.
class Event {
 public:
  Event() = default;
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  /// Makes waits wait for all work that `stream` has been given so far.
  ///
  /// @throws DeviceError
  void record(const Stream& stream);
  /// Makes the event unrecorded again.
  void reset() noexcept { recorded_.store(false, std::memory_order_release); }
  /// Whether the event is recorded and the work before it is done.
  bool query() const;
  /// Waits until the event is recorded and the work before it is done.
  ///
  /// @throws Timeout, CommAborted  the caller's context ends the wait (deadline, abort token); the
  ///                               text names `op`.
  void wait(const char* op) const;
  /// Makes work that `stream` gets from now on wait for the event. The calling thread waits only
  /// until the event is recorded; if `stream` is the host's, it waits as above.
  void wait(const Stream& stream, const char* op) const;

 private:
  void wait_recorded(const char* op) const;

  std::atomic<bool> recorded_{false};
  CUevent_st* native_ = nullptr;  // null for a host stream; written before recorded_
  int gpu_ = -1;                  // the GPU of native_
  mutable std::mutex
      mutex_;  // held while recorded_ becomes true, so that a waiter about to park notices
  mutable std::condition_variable changed_;
};

}  // namespace tandem
