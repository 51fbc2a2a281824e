// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tandem/runtime/device.hpp"
#include "tandem/runtime/matmul_precision.hpp"

// A forward declaration of CUDA's type, so that no public header includes CUDA's.
struct CUstream_st;

namespace tandem {

class GpuStream;
class LogicalDevice;

/// An ordered queue of a device's work.
///
/// A host device's stream runs inline: work is done when `dispatch` returns. A GPU's stream is
/// asynchronous: work is done after `synchronize`, or after a `read` of its result.
class Stream {
 public:
  /// @param native  the GPU's stream; null on the host.
  explicit Stream(LogicalDevice& device, GpuStream* native = nullptr) noexcept
      : device_(&device), native_(native) {}
  LogicalDevice& logical_device() const noexcept { return *device_; }
  Device device() const noexcept;
  GpuStream* native() const noexcept { return native_; }
  /// Waits for all work queued so far.
  ///
  /// @param op  the name that errors give.
  /// @throws DeviceError  the work failed.
  /// @throws Timeout, CommAborted  the caller's context ends the wait (deadline, abort token).
  void synchronize(const char* op = "synchronize") const;

 private:
  LogicalDevice* device_;
  GpuStream* native_;
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
  /// False on a shape-only device: the kernel takes its workspace, and touches no memory.
  bool computes = true;
};

/// What a kernel of a registered backend (GpuBackend) is given: the stream that its work goes to.
struct RegisteredStream {
  const Stream& stream;
};

/// What a CUDA kernel is given: its device, the CUDA stream to launch on, and which path to take.
struct CudaStream {
  Device device;
  CUstream_st* native = nullptr;
  KernelPath path = KernelPath::fastest;
  MatmulPrecision precision = MatmulPrecision::highest;
};

}  // namespace tandem
