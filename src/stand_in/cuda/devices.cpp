// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Calls of CUDA's run-time about GPUs, versions and errors.

#include <cstdio>
#include <cstring>
#include <utility>

#include "stand_in/cuda/call.hpp"

using tandem::stand_in::call;
using tandem::stand_in::current_gpu;
using tandem::stand_in::kGpuName;
using tandem::stand_in::last_error;
using tandem::stand_in::Machine;

namespace {

constexpr int kMajor = 8, kProcessors = 108, kWarp = 32;

bool exists(const Machine& m, int gpu) {
  return gpu >= 0 && gpu < m.settings.gpus;
}

/// Those of an A100, for choices that PyTorch makes by them.
void describe(cudaDeviceProp* p, const Machine& m, int gpu) {
  std::memset(p, 0, sizeof *p);
  std::snprintf(p->name, sizeof p->name, "%s", kGpuName);
  p->totalGlobalMem = m.settings.gpu_bytes;
  p->major = kMajor;
  p->multiProcessorCount = kProcessors;
  p->warpSize = kWarp;
  p->maxThreadsPerBlock = 1024;
  p->maxThreadsPerMultiProcessor = 2048;
  p->regsPerBlock = p->regsPerMultiprocessor = 65536;
  p->sharedMemPerBlock = 49152;
  p->sharedMemPerMultiprocessor = p->sharedMemPerBlockOptin = 166912;
  p->l2CacheSize = 40 << 20;
  p->maxGridSize[0] = 2147483647;
  p->maxGridSize[1] = p->maxGridSize[2] = 65535;
  p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
  p->maxThreadsDim[2] = 64;
  p->pciBusID = m.settings.place(gpu) + 1;
  p->uuid.bytes[15] = static_cast<char>(m.settings.place(gpu) + 1);
  p->unifiedAddressing = 1;
}

}  // namespace

extern "C" {

cudaError_t cudaGetLastError() {
  return std::exchange(last_error(), cudaSuccess);
}
cudaError_t cudaPeekAtLastError() {
  return last_error();
}
const char* cudaGetErrorName(cudaError_t e) {
  switch (e) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorNotReady:
      return "cudaErrorNotReady";
    case cudaErrorNotSupported:
      return "cudaErrorNotSupported";
    case cudaErrorIllegalAddress:
      return "cudaErrorIllegalAddress";
    case cudaErrorInvalidDevice:
      return "cudaErrorInvalidDevice";
    case cudaErrorNoDevice:
      return "cudaErrorNoDevice";
    default:
      return "an error of CUDA";
  }
}
const char* cudaGetErrorString(cudaError_t e) {
  switch (e) {
    case cudaSuccess:
      return "no error";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorNotReady:
      return "device not ready";
    case cudaErrorNotSupported:
      return "operation not supported by the stand-in for CUDA";
    case cudaErrorIllegalAddress:
      return "an illegal memory access was encountered";
    case cudaErrorInvalidDevice:
      return "invalid device ordinal";
    case cudaErrorNoDevice:
      return "no CUDA-capable device is detected";
    case cudaErrorUnknown:
      return "unknown error";
    default:
      return "an error that the stand-in for CUDA was told to give";
  }
}
cudaError_t cudaDriverGetVersion(int* v) {
  return call(__func__, [=](Machine&) { return *v = CUDART_VERSION, cudaSuccess; });
}
cudaError_t cudaRuntimeGetVersion(int* v) {
  return call(__func__, [=](Machine&) { return *v = CUDART_VERSION, cudaSuccess; });
}

cudaError_t cudaGetDeviceCount(int* n) {
  return call(__func__, [=](Machine& m) {
    *n = m.settings.gpus;
    return *n > 0 ? cudaSuccess : cudaErrorNoDevice;
  });
}
// A thread may turn away from a GPU that takes no more work.
cudaError_t cudaSetDevice(int gpu) {
  Machine& m = Machine::get();
  const std::lock_guard lock(m.mutex);
  auto status = static_cast<cudaError_t>(m.failures.count(__func__));
  if (status == cudaSuccess && !exists(m, gpu)) status = cudaErrorInvalidDevice;
  if (status != cudaSuccess) return last_error() = status;
  current_gpu() = gpu;
  m.contexts.insert(gpu);
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* gpu) {
  return *gpu = current_gpu(), cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int gpu, int peer) {
  return call(__func__, [=](Machine& m) {
    if (!exists(m, gpu) || !exists(m, peer)) return cudaErrorInvalidDevice;
    *can = m.settings.has_peers() && gpu != peer ? 1 : 0;
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
  return call(__func__, [=](Machine& m) {
    return m.settings.has_peers() && exists(m, peer) ? cudaSuccess : cudaErrorPeerAccessUnsupported;
  });
}
cudaError_t cudaDeviceGetPCIBusId(char* text, int size, int gpu) {
  return call(__func__, [=](Machine& m) {
    if (!exists(m, gpu)) return cudaErrorInvalidDevice;
    std::snprintf(
        text, static_cast<std::size_t>(size), "0000:%02X:00.0", m.settings.place(gpu) + 1);
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr a, int gpu) {
  return call(__func__, [=](Machine& m) {
    if (!exists(m, gpu)) return cudaErrorInvalidDevice;
    *value = a == cudaDevAttrComputeCapabilityMajor ? kMajor
             : a == cudaDevAttrMultiProcessorCount  ? kProcessors
             : a == cudaDevAttrWarpSize             ? kWarp
                                                    : 0;
    return cudaSuccess;
  });
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int gpu) {
  return call(__func__, [=](Machine& m) {
    if (!exists(m, gpu)) return cudaErrorInvalidDevice;
    describe(p, m, gpu);
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceSynchronize() {
  return call(__func__, [](Machine& m) {
    m.drain_gpu(current_gpu());
    return static_cast<cudaError_t>(m.error(current_gpu()));
  });
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return call(__func__, [=](Machine&) { return *least = 0, *greatest = -5, cudaSuccess; });
}
cudaError_t cudaProfilerStart() {
  return call(__func__, [](Machine&) { return cudaSuccess; });
}
cudaError_t cudaProfilerStop() {
  return call(__func__, [](Machine&) { return cudaSuccess; });
}

}  // extern "C"
