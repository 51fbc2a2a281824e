// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "tandem/runtime/allocator.hpp"
#include "tandem/runtime/device.hpp"
#include "tandem/runtime/stream.hpp"

struct CUevent_st;
struct CUmemPoolHandle_st;
namespace tandem {
class Buffer;
class FillingBuffer;
struct BufferPart;
}  // namespace tandem

// What the runtime needs from CUDA. This header includes none of CUDA's. The definitions exist only
// in builds with CUDA; calls to them stand under `if constexpr (has_cuda)`.
//
// Unless it is noexcept, every function throws DeviceError with the call and the code if CUDA
// refuses. An error after which a GPU takes no more work from this process (an illegal address,
// ...) is remembered: later calls on that GPU throw too, and say "restart".
namespace tandem::cuda {

/// Number of GPUs that the process may use; 0 without a driver.
int gpu_count() noexcept;
/// Why there is no GPU, where CUDA says more than that: "cudaErrorInsufficientDriver, ...".
const std::string& no_gpu_reason() noexcept;
/// @throws InvalidArgument  there is no GPU `gpu`, which `name` asks for.
void check_gpu(Device name, int gpu);

/// What a logical device on a GPU consists of: three streams and a memory pool of its own.
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
  /// Makes the GPU current for the calling thread.
  /// @throws DeviceError  the GPU has become unusable.
  void activate() const;
  CUstream_st* main_stream() const noexcept { return main_; }
  /// For communication that runs beside the main stream.
  CUstream_st* side_stream() const noexcept { return side_; }
  /// For copies from the host that run beside the main stream.
  CUstream_st* upload_stream() const noexcept { return upload_; }
  /// The GPU reads memory of the host itself that is not pinned, when its stream comes to it.
  bool reads_pageable() const noexcept { return reads_pageable_; }
  /// Allocates in the order of the main stream, from the pool and from what was freed.
  std::unique_ptr<SourceAllocator> make_allocator();

 private:
  void release() noexcept;

  Device name_;
  int gpu_;
  bool reads_pageable_ = false;
  CUstream_st* main_ = nullptr;
  CUstream_st* side_ = nullptr;
  CUstream_st* upload_ = nullptr;
  CUmemPoolHandle_st* pool_ = nullptr;
};

/// Waits for all work of a device's stream.
/// @throws Timeout, CommAborted  the context's deadline passed, or the context was aborted.
void synchronize(const GpuDevice& device, CUstream_st* stream, const char* op);

/// Records `stream`'s work so far in `event`. Creates the event, or recreates it for another GPU.
void record_event(CUevent_st*& event, int& gpu, const Stream& stream);
bool event_done(CUevent_st* event, int gpu);
void wait_event(CUevent_st* event, int gpu, const char* op);
void stream_wait_event(const Stream& stream, CUevent_st* event);
/// `event` may be null.
void destroy_event(CUevent_st* event, int gpu) noexcept;

/// Waits for a stream's work after a failure, when the memory that it uses is about to be freed and
/// nobody else waits for it. After a grace time, gives up on work that hangs.
void drain(const GpuDevice& device, CUstream_st* stream) noexcept;

/// Copies in the stream's order, and waits for the copy to end.
void copy_to_host(
    const Stream& stream, const void* source, void* target, std::size_t nbytes, const char* op);
/// Copies in the stream's order. When it returns, the host may change the source.
void copy_from_host(
    const Stream& stream, const void* source, void* target, std::size_t nbytes, const char* op);
/// Begins a copy in the stream's order. Waits for the stream where the driver would.
///
/// @return  whether the GPU reads the source when the stream comes to it. Else the host may change
///          the source.
bool begin_copy_from_host(
    const Stream& stream, const void* source, void* target, std::size_t nbytes, const char* op);
/// See tandem::fill. @param device  a GPU's.
FillingBuffer fill(std::span<const BufferPart> parts, Device device);
/// Copies after the work of both streams so far. The source's stream does not wait for the end.
void begin_copy_between(const Stream& source_stream,
                        const void* source,
                        const Stream& target_stream,
                        void* target,
                        std::size_t nbytes);
/// Copies after the work of both streams so far; both streams continue after their part in it. Does
/// not wait. Between GPUs that are not peers the copy goes through the host.
void copy_between(const Stream& source_stream,
                  const void* source,
                  const Stream& target_stream,
                  void* target,
                  std::size_t nbytes);
/// Whether two GPUs' kernels may read and write each other's memory. Asks the driver and then tries
/// it with data, once per pair. With TANDEM_NO_CUDA_PEERS=1 in the environment no GPUs are peers.
bool peers(int gpu, int other);
/// Whether the driver says that two GPUs reach each other, and a trial has shown that they do not.
bool are_broken_peers(int gpu, int other);
/// From here on the two are not peers: the driver has refused one the other's memory.
void refuse_peers(int gpu, int other) noexcept;

/// Releases the cached memory of all pools of a GPU, after waiting for the streams that may use it.
void release_pools(int gpu);

/// Whether the process uses a GPU, so that pinned memory is of use.
bool is_in_use() noexcept;
/// Pins whole pages of the host, so that GPUs access them without a copy by the host.
///
/// @return  false, with nothing done, if the process uses no GPU or the system refuses.
bool pin(void* p, std::size_t nbytes) noexcept;
/// Unpins what `pin` has pinned.
void unpin(void* p) noexcept;

/// Throws if the last launch of the calling thread failed.
void check_launch(const char* name);

}  // namespace tandem::cuda
