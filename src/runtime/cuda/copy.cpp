// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <chrono>
#include <cstddef>

#include "tandem/runtime/event.hpp"
#include "tandem/runtime/logical_device.hpp"

#include "runtime/cuda/backend.hpp"
#include "runtime/cuda/check.hpp"
#include "runtime/cuda/driver_turn.hpp"
#include "runtime/cuda/ends_within.hpp"
#include "runtime/cuda/stage_ring.hpp"

namespace tandem::cuda {
namespace {

/// Bytes of memory that is not pinned which the driver takes without a wait.
constexpr std::size_t kMostTaken = std::size_t{64} << 10;
constexpr auto kGrace = std::chrono::seconds(2);

/// The driver keeps no copy of pinned memory: the GPU reads it when the stream comes to it.
bool is_pinned(const void* p) {
  cudaPointerAttributes attributes{};
  TANDEM_CUDA(cudaPointerGetAttributes(&attributes, p));
  return attributes.type == cudaMemoryTypeHost;
}

/// For GPUs that do not reach each other: through the host.
void copy_staged(const Stream& from_stream,
                 const void* from,
                 const Stream& to_stream,
                 void* to,
                 std::size_t nbytes) {
  const GpuDevice& source = *from_stream.logical_device().cuda();
  try {
    StageRing::of(source.gpu()).copy(from_stream, from, to_stream, to, nbytes);
  } catch (...) {  // the memory may be freed or used again
    drain(source, from_stream.native());
    drain(*to_stream.logical_device().cuda(), to_stream.native());
    throw;
  }
}

}  // namespace

void drain(const GpuDevice& device, CUstream_st* stream) noexcept {
  const GpuScope scope(device.gpu());
  ends_within(kGrace, stream);
}

bool is_in_use() noexcept {
  return used_gpu() >= 0;
}

bool pin(void* p, std::size_t nbytes) noexcept {
  const int gpu = used_gpu();
  if (gpu < 0) return false;
  const DriverTurn turn;
  const GpuScope scope(gpu);
  const cudaError_t status = cudaHostRegister(p, nbytes, cudaHostRegisterPortable);
  forgive(status);
  return status == cudaSuccess;
}

void unpin(void* p) noexcept {
  const DriverTurn turn;
  const GpuScope scope(used_gpu());
  forgive(cudaHostUnregister(p));
}

void copy_to_host(
    const Stream& stream, const void* source, void* target, std::size_t nbytes, const char* op) {
  const GpuDevice& device = *stream.logical_device().cuda();
  // A copy to memory that is not pinned waits in the driver for what is before it: here a deadline
  // ends that.
  synchronize(device, stream.native(), op);
  TANDEM_CUDA(cudaMemcpyAsync(target, source, nbytes, cudaMemcpyDeviceToHost, stream.native()));
  try {
    synchronize(device, stream.native(), op);
  } catch (...) {
    drain(device, stream.native());
    throw;
  }
}

bool begin_copy_from_host(
    const Stream& stream, const void* source, void* target, std::size_t nbytes, const char* op) {
  const GpuDevice& device = *stream.logical_device().cuda();
  device.activate();
  // Else the driver has taken the bytes when the call returns.
  const bool is_read_later = is_pinned(source) || device.reads_pageable();
  if (!is_read_later && nbytes > kMostTaken) synchronize(device, stream.native(), op);  // as above
  TANDEM_CUDA(cudaMemcpyAsync(target, source, nbytes, cudaMemcpyHostToDevice, stream.native()));
  return is_read_later;
}

void copy_from_host(
    const Stream& stream, const void* source, void* target, std::size_t nbytes, const char* op) {
  const GpuDevice& device = *stream.logical_device().cuda();
  const bool is_read_later = begin_copy_from_host(stream, source, target, nbytes, op);
  try {
    if (is_read_later) synchronize(device, stream.native(), op);
  } catch (...) {
    drain(device, stream.native());
    throw;
  }
}

void begin_copy_between(const Stream& source_stream,
                        const void* source,
                        const Stream& target_stream,
                        void* target,
                        std::size_t nbytes) {
  const GpuDevice& from = *source_stream.logical_device().cuda();
  const GpuDevice& to = *target_stream.logical_device().cuda();
  if (!peers(from.gpu(), to.gpu()))
    return copy_staged(source_stream, source, target_stream, target, nbytes);
  Event before;
  before.record(source_stream);
  before.wait(target_stream, "copy");
  to.activate();
  if (from.gpu() == to.gpu()) {
    TANDEM_CUDA(
        cudaMemcpyAsync(target, source, nbytes, cudaMemcpyDeviceToDevice, target_stream.native()));
  } else {
    TANDEM_CUDA(
        cudaMemcpyPeerAsync(target, to.gpu(), source, from.gpu(), nbytes, target_stream.native()));
  }
}

void copy_between(const Stream& source_stream,
                  const void* source,
                  const Stream& target_stream,
                  void* target,
                  std::size_t nbytes) {
  begin_copy_between(source_stream, source, target_stream, target, nbytes);
  const GpuDevice& from = *source_stream.logical_device().cuda();
  const GpuDevice& to = *target_stream.logical_device().cuda();
  if (!peers(from.gpu(), to.gpu())) return;  // both streams are in order already
  Event after;
  try {  // the source's owner may free or change it in its own order
    after.record(target_stream);
    after.wait(source_stream, "copy");
  } catch (...) {
    drain(to, target_stream.native());
    throw;
  }
}

}  // namespace tandem::cuda
