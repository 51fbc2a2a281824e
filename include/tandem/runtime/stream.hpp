// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "tandem/runtime/device.hpp"

// CUDA's own types, so that no public header needs CUDA's.
struct CUstream_st;
struct CUevent_st;

namespace tandem {

class LogicalDevice;

/// An ordered queue of a device's work.
///
/// A host device's stream runs inline: work is done when `dispatch` returns. A GPU's is
/// asynchronous: work is done after `synchronize`, or a `read` of its result.
class Stream {
 public:
  /// @param native  the GPU's queue; null on the host.
  explicit Stream(LogicalDevice& device, CUstream_st* native = nullptr) noexcept
      : device_(&device), native_(native) {}
  LogicalDevice& logical_device() const noexcept { return *device_; }
  Device device() const noexcept;
  CUstream_st* native() const noexcept { return native_; }
  /// Waits for all work queued so far. @param op  named in errors.
  ///
  /// @throws DeviceError  work has failed.
  /// @throws Timeout, CommAborted  by the caller's context (deadline, abort token).
  void synchronize(const char* op = "synchronize") const;

 private:
  LogicalDevice* device_;
  CUstream_st* native_;
};

/// Which of an op's kernels run: all give the same values but for rounding.
enum class KernelPath : std::uint8_t {
  fastest,  ///< a library's where there is one for the type and the machine
  native,   ///< our own, the oracle of the others
};

/// What a host kernel gets: its device, how many threads it may use, and which path it takes.
struct HostStream {
  Device device;
  int threads = 1;
  KernelPath path = KernelPath::fastest;
};

/// How exact the products of f32 matrices are (PyTorch's torch.set_float32_matmul_precision).
enum class MatmulPrecision : std::uint8_t {
  highest,  ///< f32 is f32
  high,     ///< a GPU may round factors to TF32: ten bits of mantissa, sums in f32
};

/// The process's; `highest` unless set. Thread-safe. On the host f32 is always f32.
MatmulPrecision get_float32_matmul_precision() noexcept;
void set_float32_matmul_precision(MatmulPrecision precision) noexcept;

/// What a CUDA kernel gets: its device, the queue that it is launched on, and which path it takes.
struct CudaStream {
  Device device;
  CUstream_st* native = nullptr;
  KernelPath path = KernelPath::fastest;
  MatmulPrecision precision = MatmulPrecision::highest;
};

/// A point in a stream that others can wait for.
///
/// Thread-safe: recorded by one thread, waited for by any. Recorded again only when nobody waits.
class Event {
 public:
  Event() = default;
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  /// All work of `stream` so far is what is waited for. @throws DeviceError
  void record(const Stream& stream);
  /// Makes it unrecorded again.
  void reset() noexcept { recorded_.store(false, std::memory_order_release); }
  /// It is recorded, and the work before it is done.
  bool query() const;
  /// Waits until it is recorded and the work before it is done.
  ///
  /// @throws Timeout, CommAborted  by the caller's context (deadline, abort token), naming `op`.
  void wait(const char* op) const;
  /// Work that `stream` gets from here on waits for it; the caller waits until it is recorded, on
  /// the host as above.
  void wait(const Stream& stream, const char* op) const;

 private:
  void wait_recorded(const char* op) const;

  std::atomic<bool> recorded_{false};
  CUevent_st* native_ = nullptr;  // where the stream is a GPU's; written before recorded_
  int gpu_ = -1;                  // of native_
  mutable std::mutex
      mutex_;  // guards the change of recorded_ to true against waiters about to park
  mutable std::condition_variable changed_;
};

}  // namespace tandem
