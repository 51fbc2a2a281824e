// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/cuda/stage_ring.hpp"

#include <algorithm>

#include "tandem/runtime/logical_device.hpp"

#include "runtime/cuda/check.hpp"
#include "runtime/gpu/driver_turn.hpp"
#include "runtime/gpu/gpu_device.hpp"

namespace tandem::cuda {
namespace {

/// Bytes of a piece: the bus takes some 40 us for it, and the host a few to queue it.
constexpr std::size_t kPiece = std::size_t{1} << 20;

}  // namespace

StageRing& StageRing::of(int gpu) {
  static auto& rings = *new std::array<StageRing, kMaxDevices>;
  return rings[static_cast<std::size_t>(gpu)];
}

void StageRing::copy(const Stream& source_stream,
                     const void* source,
                     const Stream& target_stream,
                     void* target,
                     std::size_t nbytes) {
  const std::scoped_lock lock(mutex_);
  if (memory_ == nullptr) {
    const DriverTurn turn;
    void* memory = nullptr;
    source_stream.logical_device().gpu()->activate();
    TANDEM_CUDA(cudaMallocHost(&memory, kPiece * slots_.size()));
    memory_ = static_cast<char*>(memory);
  }
  for (std::size_t at = 0; at < nbytes; at += kPiece) {
    copy_piece(source_stream,
               static_cast<const char*>(source) + at,
               target_stream,
               static_cast<char*>(target) + at,
               std::min(kPiece, nbytes - at));
  }
}

void StageRing::copy_piece(const Stream& source_stream,
                           const void* source,
                           const Stream& target_stream,
                           void* target,
                           std::size_t nbytes) {
  Slot& slot = slots_[next_];
  char* const stage = memory_ + next_ * kPiece;
  next_ = (next_ + 1) % slots_.size();
  if (slot.is_used) slot.emptied.wait(source_stream, "copy");
  source_stream.logical_device().gpu()->activate();
  TANDEM_CUDA(cudaMemcpyAsync(
      stage, source, nbytes, cudaMemcpyDeviceToHost, source_stream.native()->cuda()));
  slot.filled.record(source_stream);
  slot.filled.wait(target_stream, "copy");
  TANDEM_CUDA(cudaMemcpyAsync(
      target, stage, nbytes, cudaMemcpyHostToDevice, target_stream.native()->cuda()));
  slot.emptied.record(target_stream);
  slot.is_used = true;
}

}  // namespace tandem::cuda
