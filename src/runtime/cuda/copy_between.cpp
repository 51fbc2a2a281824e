// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/cuda/copy_between.hpp"

#include "tandem/runtime/logical_device.hpp"

#include "runtime/cuda/check.hpp"
#include "runtime/cuda/peers.hpp"
#include "runtime/cuda/stage_ring.hpp"
#include "runtime/gpu/gpu_device.hpp"
#include "runtime/gpu/wait_stream.hpp"

namespace tandem::cuda {
namespace {

/// For GPUs that do not reach each other: through the host.
void copy_staged(const Stream& from_stream,
                 const void* from,
                 const Stream& to_stream,
                 void* to,
                 std::size_t nbytes) {
  try {
    StageRing::of(from_stream.logical_device().gpu()->ordinal())
        .copy(from_stream, from, to_stream, to, nbytes);
  } catch (...) {  // the memory may be freed or used again
    from_stream.native()->drain();
    to_stream.native()->drain();
    throw;
  }
}

}  // namespace

void begin_copy_between(const Stream& source_stream,
                        const void* source,
                        const Stream& target_stream,
                        void* target,
                        std::size_t nbytes) {
  const GpuDevice& from = *source_stream.logical_device().gpu();
  const GpuDevice& to = *target_stream.logical_device().gpu();
  if (!are_peers(from.ordinal(), to.ordinal()))
    return copy_staged(source_stream, source, target_stream, target, nbytes);
  wait_stream(target_stream, source_stream, "copy");
  to.activate();
  CUstream_st* const stream = target_stream.native()->cuda();
  if (from.ordinal() == to.ordinal()) {
    TANDEM_CUDA(cudaMemcpyAsync(target, source, nbytes, cudaMemcpyDeviceToDevice, stream));
  } else {
    TANDEM_CUDA(cudaMemcpyPeerAsync(target, to.ordinal(), source, from.ordinal(), nbytes, stream));
  }
}

void copy_between(const Stream& source_stream,
                  const void* source,
                  const Stream& target_stream,
                  void* target,
                  std::size_t nbytes) {
  begin_copy_between(source_stream, source, target_stream, target, nbytes);
  const int from = source_stream.logical_device().gpu()->ordinal();
  const int to = target_stream.logical_device().gpu()->ordinal();
  if (!are_peers(from, to)) return;  // both streams are in order already
  try {                              // the source's owner may free or change it in its own order
    wait_stream(source_stream, target_stream, "copy");
  } catch (...) {
    target_stream.native()->drain();
    throw;
  }
}

}  // namespace tandem::cuda
