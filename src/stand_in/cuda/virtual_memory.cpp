// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// The driver's calls about memory that is made and put to addresses in two steps. PyTorch makes
// them where PYTORCH_CUDA_ALLOC_CONF has expandable_segments:True.

#include <map>
#include <mutex>

#include <cuda.h>

#include "stand_in/machine/machine.hpp"

using tandem::stand_in::Machine;
using tandem::stand_in::Memory;

namespace {

constexpr std::size_t kGranularity = std::size_t{2} << 20;

/// What cuMemCreate has made. It is the GPU's until it is released, and mapped nowhere.
struct Physical {
  int gpu;
  std::size_t nbytes;
  int mapped = 0;  // times
  bool is_released = false;
};

std::map<CUmemGenericAllocationHandle, Physical>& made() {
  static auto& all = *new std::map<CUmemGenericAllocationHandle, Physical>;
  return all;
}

std::map<CUdeviceptr, CUmemGenericAllocationHandle>& mapped() {
  static auto& all = *new std::map<CUdeviceptr, CUmemGenericAllocationHandle>;
  return all;
}

std::byte* address(CUdeviceptr p) {
  return reinterpret_cast<std::byte*>(p);
}

/// Runs a call under the machine's lock. It is counted, and may be told to fail.
template <class F>
CUresult call(const char* name, F work) {
  Machine& m = Machine::get();
  const std::lock_guard lock(m.mutex);
  const auto status = static_cast<CUresult>(m.failures.count(name));
  return status != CUDA_SUCCESS ? status : work(m);
}

void give_back_unused(Machine& m, CUmemGenericAllocationHandle handle) {
  const auto found = made().find(handle);
  if (found->second.mapped > 0 || !found->second.is_released) return;
  m.unclaim(found->second.gpu, found->second.nbytes);
  made().erase(found);
}

}  // namespace

extern "C" {

CUresult cuMemGetAllocationGranularity(std::size_t* nbytes,
                                       const CUmemAllocationProp*,
                                       CUmemAllocationGranularity_flags) {
  return call(__func__, [=](Machine&) { return *nbytes = kGranularity, CUDA_SUCCESS; });
}
CUresult cuMemAddressReserve(
    CUdeviceptr* p, std::size_t n, std::size_t, CUdeviceptr, unsigned long long) {
  return call(__func__, [=](Machine& m) {
    *p = reinterpret_cast<CUdeviceptr>(m.memory.reserve(n));
    return *p == 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
  });
}
CUresult cuMemAddressFree(CUdeviceptr p, std::size_t n) {
  return call(__func__, [=](Machine& m) {
    return m.memory.give_back_addresses(address(p), n), CUDA_SUCCESS;
  });
}
CUresult cuMemCreate(CUmemGenericAllocationHandle* handle,
                     std::size_t n,
                     const CUmemAllocationProp* of,
                     unsigned long long) {
  return call(__func__, [=](Machine& m) {
    static CUmemGenericAllocationHandle last = 0;
    if (n % kGranularity != 0 || of->location.id < 0 || of->location.id >= m.settings.gpus)
      return CUDA_ERROR_INVALID_VALUE;
    if (!m.claim(of->location.id, n)) return CUDA_ERROR_OUT_OF_MEMORY;
    *handle = ++last;
    made()[*handle] = {of->location.id, n};
    return CUDA_SUCCESS;
  });
}
CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  return call(__func__, [=](Machine& m) {
    const auto found = made().find(handle);
    if (found == made().end() || found->second.is_released) return CUDA_ERROR_INVALID_VALUE;
    found->second.is_released = true;
    return give_back_unused(m, handle), CUDA_SUCCESS;
  });
}
CUresult cuMemMap(CUdeviceptr p,
                  std::size_t n,
                  std::size_t offset,
                  CUmemGenericAllocationHandle handle,
                  unsigned long long) {
  return call(__func__, [=](Machine& m) {
    const auto found = made().find(handle);
    if (found == made().end() || offset != 0 || n != found->second.nbytes || mapped().contains(p))
      return CUDA_ERROR_INVALID_VALUE;
    m.map({address(p), n, found->second.gpu});
    mapped()[p] = handle;
    ++found->second.mapped;
    return CUDA_SUCCESS;
  });
}
CUresult cuMemSetAccess(CUdeviceptr p, std::size_t n, const CUmemAccessDesc*, std::size_t) {
  return call(__func__, [=](Machine& m) {
    return m.memory.has(address(p), n) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}
CUresult cuMemUnmap(CUdeviceptr p, std::size_t n) {
  return call(__func__, [=](Machine& m) {
    for (CUdeviceptr at = p; at < p + n;) {
      const auto found = mapped().find(at);
      if (found == mapped().end()) return CUDA_ERROR_INVALID_VALUE;
      const CUmemGenericAllocationHandle handle = found->second;
      at += made()[handle].nbytes;
      m.unmap(address(found->first));
      mapped().erase(found);
      --made()[handle].mapped;
      give_back_unused(m, handle);
    }
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
