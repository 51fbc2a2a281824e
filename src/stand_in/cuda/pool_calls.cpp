// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Calls of CUDA's run-time about memory in the order of streams. PyTorch makes one for each
// allocation where PYTORCH_CUDA_ALLOC_CONF is backend:cudaMallocAsync.

#include <algorithm>
#include <array>
#include <cstdint>

#include "stand_in/cuda/call.hpp"

using tandem::stand_in::call;
using tandem::stand_in::kMostGpus;
using tandem::stand_in::Machine;
using tandem::stand_in::Memory;
using tandem::stand_in::stream_of;

namespace {

/// A GPU's default pool, which is the only one. It keeps nothing that is free.
struct Pool {
  std::uint64_t used = 0, most_used = 0;
};

std::array<Pool, kMostGpus> pools;

Pool* pool_of(cudaMemPool_t handle) {
  return reinterpret_cast<Pool*>(handle);
}

}  // namespace

extern "C" {

cudaError_t cudaMallocAsync(void** p, std::size_t n, cudaStream_t handle) {
  return call(__func__, [=](Machine& m) {
    CUstream_st* const s = stream_of(m, handle);
    if (n == 0) return *p = nullptr, cudaSuccess;
    *p = m.allocate(s, n, "cudaMallocAsync");
    if (*p == nullptr) return cudaErrorMemoryAllocation;
    Pool& pool = pools[static_cast<std::size_t>(s->gpu)];
    pool.used += m.memory.find(*p)->size;
    pool.most_used = std::max(pool.most_used, pool.used);
    return cudaSuccess;
  });
}
cudaError_t cudaFreeAsync(void* p, cudaStream_t handle) {
  return call(__func__, [=](Machine& m) {
    if (p == nullptr) return cudaSuccess;
    const auto* const found = m.memory.find(p);
    const auto block = found != nullptr ? *found : Memory::Block{};
    if (!m.free(stream_of(m, handle), p, "cudaFreeAsync")) {
      m.reports.add("memory",
                    "cudaFreeAsync",
                    "cudaFreeAsync is given an address that no block begins at: it is freed "
                    "twice, or was never allocated");
      return cudaErrorInvalidValue;
    }
    pools[static_cast<std::size_t>(block.gpu)].used -= block.size;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int gpu) {
  return call(__func__, [=](Machine& m) {
    if (gpu < 0 || gpu >= m.settings.gpus) return cudaErrorInvalidDevice;
    *pool = reinterpret_cast<cudaMemPool_t>(&pools[static_cast<std::size_t>(gpu)]);
    return cudaSuccess;
  });
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void*) {
  return call(__func__, [=](Machine&) {
    const bool is_peak =
        attribute == cudaMemPoolAttrUsedMemHigh || attribute == cudaMemPoolAttrReservedMemHigh;
    if (is_peak) pool_of(pool)->most_used = pool_of(pool)->used;
    return cudaSuccess;
  });
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  return call(__func__, [=](Machine&) {
    const bool is_peak =
        attribute == cudaMemPoolAttrUsedMemHigh || attribute == cudaMemPoolAttrReservedMemHigh;
    const bool is_now = attribute == cudaMemPoolAttrUsedMemCurrent ||
                        attribute == cudaMemPoolAttrReservedMemCurrent;
    if (!is_peak && !is_now) return cudaErrorNotSupported;
    *static_cast<std::uint64_t*>(value) = is_peak ? pool_of(pool)->most_used : pool_of(pool)->used;
    return cudaSuccess;
  });
}
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t, const cudaMemAccessDesc*, std::size_t) {
  return call(__func__, [](Machine& m) {
    return m.settings.has_peers() ? cudaSuccess : cudaErrorPeerAccessUnsupported;
  });
}
// There are no graphs, whose memory it is.
cudaError_t cudaDeviceGetGraphMemAttribute(int, cudaGraphMemAttributeType, void* value) {
  return call(__func__,
              [=](Machine&) { return *static_cast<std::uint64_t*>(value) = 0, cudaSuccess; });
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, std::size_t) {
  return call(__func__, [](Machine&) { return cudaSuccess; });
}

}  // extern "C"
