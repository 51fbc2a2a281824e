// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "tandem/runtime/allocator.hpp"
#include "tandem/runtime/device.hpp"
#include "tandem/runtime/stream.hpp"

struct CUmemPoolHandle_st;

// What the runtime asks of CUDA. No header of CUDA is read here; the definitions stand in a build
// with CUDA alone, and calls to them under `if constexpr (has_cuda)`.
//
// Every function throws DeviceError with call and code where CUDA refuses. An error after which a
// GPU takes no more work for this process (an illegal address, ...) is remembered: later calls on
// that GPU throw too, and say "restart".
namespace tandem::cuda {

/// GPUs that the process may use; 0 without a driver.
int gpu_count() noexcept;
/// @throws InvalidArgument  there is no GPU `gpu`, as `name` asks for.
void check_gpu(Device name, int gpu);

/// What a logical device of a GPU is made of: two streams and a memory pool of its own.
///
/// Thread-safe. Streams and pool live until the process ends.
class GpuDevice {
 public:
  /// @throws InvalidArgument  there is no such GPU.
  GpuDevice(Device name, int gpu);
  ~GpuDevice();
  GpuDevice(const GpuDevice&) = delete;
  GpuDevice& operator=(const GpuDevice&) = delete;

  Device name() const noexcept { return name_; }
  int gpu() const noexcept { return gpu_; }
  /// Makes the GPU the calling thread's. @throws DeviceError  it is poisoned.
  void activate() const;
  CUstream_st* main_stream() const noexcept { return main_; }
  /// For communication beside the main stream.
  CUstream_st* side_stream() const noexcept { return side_; }
  /// Memory of the pool, in the order of the main stream.
  std::unique_ptr<SourceAllocator> make_allocator();

 private:
  void release() noexcept;

  Device name_;
  int gpu_;
  CUstream_st* main_ = nullptr;
  CUstream_st* side_ = nullptr;
  CUmemPoolHandle_st* pool_ = nullptr;
};

/// Waits for all work of a device's stream. @throws Timeout, CommAborted  by the context
void synchronize(const GpuDevice& device, CUstream_st* stream, const char* op);

/// Records `stream`'s work so far in `event`, which is made, or made again for another GPU.
void record_event(CUevent_st*& event, int& gpu, const Stream& stream);
bool event_done(CUevent_st* event, int gpu);
void wait_event(CUevent_st* event, int gpu, const char* op);
void stream_wait_event(const Stream& stream, CUevent_st* event);
/// Null is fine.
void destroy_event(CUevent_st* event, int gpu) noexcept;

/// Waits for a stream's work where a failure leaves nobody else to: memory that it reads or writes
/// is about to be given back. After a grace time the work is left behind, as hung.
void drain(const GpuDevice& device, CUstream_st* stream) noexcept;

/// Copies in the stream's order, and waits for the end.
void copy_to_host(
    const Stream& stream, const void* source, void* target, std::size_t nbytes, const char* op);
/// Copies in the stream's order; afterwards the host may change the source.
void copy_from_host(
    const Stream& stream, const void* source, void* target, std::size_t nbytes, const char* op);
/// Copies after the work of both streams so far; both go on after it. Does not wait.
void copy_between(const Stream& source_stream,
                  const void* source,
                  const Stream& target_stream,
                  void* target,
                  std::size_t nbytes);
/// One GPU's kernels may read and write the other's memory: asked of the driver, and tried with
/// data, once per pair.
bool peers(int gpu, int other);

/// Makes host memory one that GPUs read and write without a copy by the host, where the system lets
/// it.
void pin(void* p, std::size_t nbytes) noexcept;
/// Undoes it; memory that is not pinned stays as it is.
void unpin(void* p) noexcept;

/// Looks whether the last launch of the calling thread was refused.
void check_launch(const char* name);

}  // namespace tandem::cuda
