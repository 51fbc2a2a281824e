// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Calls of CUDA's run-time about memory and copies.

#include <cstdlib>
#include <cstring>
#include <vector>

#include "stand_in/cuda/call.hpp"

using tandem::stand_in::call;
using tandem::stand_in::current_gpu;
using tandem::stand_in::Machine;
using tandem::stand_in::Peers;
using tandem::stand_in::stream_of;

namespace {

constexpr std::size_t kPage = 4096;

bool is_pageable(const Machine& m, const void* p) {
  return !m.memory.holds(p) && !m.memory.is_pinned(p);
}

bool is_between_gpus(const Machine& m, const void* p, const void* q) {
  const auto *const a = m.memory.find(p), *const b = m.memory.find(q);
  return a != nullptr && b != nullptr && a->gpu != b->gpu;
}

// What is pageable is read at once, into memory of CUDA's; the host waits for what is written to
// pageable memory. All other copies run late.
cudaError_t copy(
    Machine& m, void* to, const void* from, std::size_t n, CUstream_st* s, const char* name) {
  if (n == 0) return cudaSuccess;
  m.next_task(s);
  if (!m.use(s, from, n, false, name) || !m.use(s, to, n, true, name))
    return cudaErrorIllegalAddress;
  std::vector<std::byte> taken;
  if (is_pageable(m, from)) {
    const auto* const bytes = static_cast<const std::byte*>(from);
    taken.assign(bytes, bytes + n);
  }
  const Peers peers = is_between_gpus(m, to, from) ? m.settings.peers : Peers::all;
  if (peers == Peers::hanging) Machine::push(s, {.after = m.never});
  const bool damages = peers == Peers::wrong_bytes;
  Machine::push(s, {.run = [&m, to, from, n, damages, taken = std::move(taken)] {
                  auto* const target = static_cast<std::byte*>(m.memory.host(to));
                  std::memcpy(target, taken.empty() ? m.memory.host(from) : taken.data(), n);
                  if (damages) target[n / 2] ^= std::byte{1};
                }});
  if (is_pageable(m, to)) m.drain(s);
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** p, std::size_t n) {
  return call(__func__, [=](Machine& m) {
    m.contexts.insert(current_gpu());
    if (n == 0) return *p = nullptr, cudaSuccess;
    *p = m.allocate(current_gpu(), n);
    return *p == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
  });
}
cudaError_t cudaFree(void* p) {
  return call(__func__, [=](Machine& m) {
    if (p == nullptr || m.free(p)) return cudaSuccess;
    m.reports.add("memory",
                  "cudaFree",
                  "cudaFree is given an address that no block begins at: it is freed twice, or was "
                  "never allocated");
    return cudaErrorInvalidValue;
  });
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  return call(__func__, [=](Machine& m) {
    *total = m.settings.gpu_bytes;
    *free = m.free_bytes(current_gpu());
    return cudaSuccess;
  });
}
cudaError_t cudaHostAlloc(void** p, std::size_t n, unsigned) {
  return call(__func__, [=](Machine& m) {
    *p = std::aligned_alloc(kPage, (n + kPage - 1) / kPage * kPage);
    if (*p == nullptr) return cudaErrorMemoryAllocation;
    m.memory.pin(*p, n);
    return cudaSuccess;
  });
}
cudaError_t cudaMallocHost(void** p, std::size_t n) {
  return cudaHostAlloc(p, n, 0);
}
cudaError_t cudaFreeHost(void* p) {
  return call(__func__, [=](Machine& m) {
    for (int gpu = 0; gpu < m.settings.gpus; ++gpu)
      m.drain_gpu(gpu);
    if (!m.memory.unpin(p)) return cudaErrorInvalidValue;
    std::free(p);
    return cudaSuccess;
  });
}
cudaError_t cudaHostRegister(void* p, std::size_t n, unsigned) {
  return call(__func__, [=](Machine& m) {
    if (m.memory.is_pinned(p)) return cudaErrorHostMemoryAlreadyRegistered;
    m.memory.pin(p, n);
    return cudaSuccess;
  });
}
cudaError_t cudaHostUnregister(void* p) {
  return call(__func__, [=](Machine& m) {
    return m.memory.unpin(p) ? cudaSuccess : cudaErrorHostMemoryNotRegistered;
  });
}
cudaError_t cudaHostGetDevicePointer(void** p, void* host, unsigned) {
  return call(__func__, [=](Machine&) { return *p = host, cudaSuccess; });
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* a, const void* p) {
  return call(__func__, [=](Machine& m) {
    *a = {};
    const auto* const block = m.memory.find(p);
    a->type = block != nullptr        ? cudaMemoryTypeDevice
              : m.memory.is_pinned(p) ? cudaMemoryTypeHost
                                      : cudaMemoryTypeUnregistered;
    a->device = block != nullptr ? block->gpu : current_gpu();
    a->devicePointer = a->hostPointer = const_cast<void*>(p);
    return cudaSuccess;
  });
}

cudaError_t cudaMemcpyAsync(
    void* to, const void* from, std::size_t n, cudaMemcpyKind, cudaStream_t s) {
  return call(__func__,
              [=](Machine& m) { return copy(m, to, from, n, stream_of(m, s), "cudaMemcpyAsync"); });
}
cudaError_t cudaMemcpyPeerAsync(
    void* to, int, const void* from, int, std::size_t n, cudaStream_t s) {
  return call(__func__, [=](Machine& m) {
    return copy(m, to, from, n, stream_of(m, s), "cudaMemcpyPeerAsync");
  });
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t n, cudaMemcpyKind) {
  return call(__func__, [=](Machine& m) {
    CUstream_st* const s = stream_of(m, nullptr);
    const cudaError_t status = copy(m, to, from, n, s, "cudaMemcpy");
    m.drain(s);
    return status;
  });
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t n, cudaStream_t handle) {
  return call(__func__, [=](Machine& m) {
    CUstream_st* const s = stream_of(m, handle);
    m.next_task(s);
    if (!m.use(s, to, n, true, "cudaMemsetAsync")) return cudaErrorIllegalAddress;
    Machine::push(s, {.run = [=, &m] { std::memset(m.memory.host(to), value, n); }});
    return cudaSuccess;
  });
}
cudaError_t cudaMemset(void* to, int value, std::size_t n) {
  return cudaMemsetAsync(to, value, n, nullptr);
}

}  // extern "C"
