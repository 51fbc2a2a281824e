// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// libnvidia-ml.so.1: what PyTorch and Python's package for NVML ask of GPUs and of their memory.
// NVML's index is a GPU's place in the machine, whatever CUDA_VISIBLE_DEVICES shows. No kernel of a
// GPU runs, so that its load is nothing.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>
#include <unistd.h>

#include "stand_in/machine/machine.hpp"

using tandem::stand_in::kGpuName;
using tandem::stand_in::kMostGpus;
using tandem::stand_in::Machine;

namespace {

/// NVML's numbers.
enum Result : int {
  kSuccess,
  kUninitialized,
  kInvalidArgument,
  kNotSupported,
  kNotFound = 6,
  kInsufficientSize,
  kUnknown = 999
};

constexpr const char* kDriver = "stand-in";
constexpr unsigned kNoInstance = 0xFFFFFFFF;

struct Device {};  // a GPU, by its place
std::array<Device, kMostGpus> devices;
int initialized = 0;

struct MemoryV1 {
  unsigned long long total, free, used;
};
struct MemoryV2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
struct Utilization {
  unsigned gpu, memory;  // parts of a hundred
};
struct ProcessV1 {
  unsigned pid;
  unsigned long long nbytes;
};
struct ProcessV2 {
  unsigned pid;
  unsigned long long nbytes;
  unsigned gpu_instance = kNoInstance, compute_instance = kNoInstance;
};

/// Runs a call under the machine's lock. It is counted, and may be told to fail.
template <class F>
int call(const char* name, F work) {
  Machine& m = Machine::get();
  const std::lock_guard lock(m.mutex);
  const int error = m.failures.count(name);
  if (error != 0) return error;
  return initialized > 0 ? static_cast<int>(work(m)) : static_cast<int>(kUninitialized);
}

template <class F>
int of_gpu(const char* name, const Device* device, F work) {
  return call(name, [=](Machine& m) {
    const std::ptrdiff_t place = device - devices.data();
    if (device == nullptr || place < 0 || place >= m.settings.installed) return kInvalidArgument;
    return work(m, static_cast<int>(place));
  });
}

/// CUDA's number of the GPU in a place, if it shows that one.
std::optional<int> shown(const Machine& m, int place) {
  for (int gpu = 0; gpu < m.settings.gpus; ++gpu)
    if (m.settings.place(gpu) == place) return gpu;
  return std::nullopt;
}

std::size_t free_bytes(const Machine& m, int place) {
  const auto gpu = shown(m, place);
  return gpu ? m.free_bytes(*gpu) : m.settings.gpu_bytes;
}

Result give(const std::string& text, char* to, unsigned size) {
  if (text.size() >= size) return kInsufficientSize;
  std::snprintf(to, size, "%s", text.c_str());
  return kSuccess;
}

/// As cudaGetDeviceProperties has it.
std::string uuid(int place) {
  std::array<char, 48> text;
  std::snprintf(text.data(), text.size(), "GPU-00000000-0000-0000-0000-%012x", place + 1);
  return text.data();
}

/// This process, once it has begun to use the GPU, and those that a test has put there.
template <class P>
int processes(const char* name, Device* device, unsigned* n, P* infos) {
  return of_gpu(name, device, [=](Machine& m, int place) {
    std::vector<P> found;
    if (const auto gpu = shown(m, place)) {
      if (m.lists_itself && m.contexts.contains(*gpu))
        found.push_back(P{static_cast<unsigned>(getpid()), m.used(*gpu)});
      for (const auto& [pid, nbytes] : m.others(*gpu))
        found.push_back(P{pid, nbytes});
    }
    const unsigned places = std::exchange(*n, static_cast<unsigned>(found.size()));
    if (found.size() > places) return kInsufficientSize;
    std::ranges::copy(found, infos);
    return kSuccess;
  });
}

}  // namespace

extern "C" {

const char* nvmlErrorString(int result) {
  switch (result) {
    case kSuccess:
      return "Success";
    case kUninitialized:
      return "Uninitialized";
    case kInvalidArgument:
      return "Invalid Argument";
    case kNotSupported:
      return "Not Supported";
    case kNotFound:
      return "Not Found";
    case kInsufficientSize:
      return "Insufficient Size";
    default:
      return "Unknown Error";
  }
}
int nvmlInitWithFlags(unsigned) {
  Machine& m = Machine::get();
  const std::lock_guard lock(m.mutex);
  const int error = m.failures.count("nvmlInit_v2");
  if (error == 0) ++initialized;
  return error;
}
int nvmlInit_v2() {
  return nvmlInitWithFlags(0);
}
int nvmlInit() {
  return nvmlInitWithFlags(0);
}
int nvmlShutdown() {
  return call(__func__, [](Machine&) { return --initialized, kSuccess; });
}
int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  return call(__func__, [=](Machine&) { return give(kDriver, text, size); });
}
int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  return call(__func__, [=](Machine&) { return *version = CUDART_VERSION, kSuccess; });
}

int nvmlDeviceGetCount_v2(unsigned* n) {
  return call(__func__, [=](Machine& m) {
    return *n = static_cast<unsigned>(m.settings.installed), kSuccess;
  });
}
int nvmlDeviceGetHandleByIndex_v2(unsigned gpu, Device** device) {
  return call(__func__, [=](Machine& m) {
    if (gpu >= static_cast<unsigned>(m.settings.installed)) return kInvalidArgument;
    return *device = &devices[gpu], kSuccess;
  });
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* id, Device** device) {
  return call(__func__, [=](Machine& m) {
    unsigned domain = 0, bus = 0, device_number = 0;
    if (std::sscanf(id, "%x:%x:%x.", &domain, &bus, &device_number) != 3) return kInvalidArgument;
    const bool exists = domain == 0 && device_number == 0 && bus >= 1 &&
                        bus <= static_cast<unsigned>(m.settings.installed);
    if (!exists) return kNotFound;
    return *device = &devices[bus - 1], kSuccess;
  });
}
int nvmlDeviceGetHandleByUUID(const char* id, Device** device) {
  return call(__func__, [=](Machine& m) {
    for (int place = 0; place < m.settings.installed; ++place)
      if (uuid(place) == id) return *device = &devices[static_cast<std::size_t>(place)], kSuccess;
    return kNotFound;
  });
}
int nvmlDeviceGetIndex(Device* device, unsigned* index) {
  return of_gpu(__func__, device, [=](Machine&, int gpu) {
    return *index = static_cast<unsigned>(gpu), kSuccess;
  });
}
int nvmlDeviceGetUUID(Device* device, char* text, unsigned size) {
  return of_gpu(__func__, device, [=](Machine&, int gpu) { return give(uuid(gpu), text, size); });
}
int nvmlDeviceGetName(Device* device, char* text, unsigned size) {
  return of_gpu(__func__, device, [=](Machine&, int) { return give(kGpuName, text, size); });
}

int nvmlDeviceGetMemoryInfo(Device* device, MemoryV1* memory) {
  return of_gpu(__func__, device, [=](Machine& m, int place) {
    const std::size_t total = m.settings.gpu_bytes, free = free_bytes(m, place);
    return *memory = {total, free, total - free}, kSuccess;
  });
}
int nvmlDeviceGetMemoryInfo_v2(Device* device, MemoryV2* memory) {
  return of_gpu(__func__, device, [=](Machine& m, int place) {
    const std::size_t total = m.settings.gpu_bytes, free = free_bytes(m, place);
    return *memory = {memory->version, total, 0, free, total - free}, kSuccess;
  });
}
int nvmlDeviceGetUtilizationRates(Device* device, Utilization* rates) {
  return of_gpu(__func__, device, [=](Machine&, int) { return *rates = {}, kSuccess; });
}
int nvmlDeviceGetComputeRunningProcesses(Device* device, unsigned* n, ProcessV1* infos) {
  return processes(__func__, device, n, infos);
}
int nvmlDeviceGetComputeRunningProcesses_v2(Device* device, unsigned* n, ProcessV2* infos) {
  return processes(__func__, device, n, infos);
}
int nvmlDeviceGetComputeRunningProcesses_v3(Device* device, unsigned* n, ProcessV2* infos) {
  return processes(__func__, device, n, infos);
}

// Links between GPUs, and what a board measures: there is none of it.
int nvmlDeviceGetP2PStatus(Device* device, Device*, int, int* status) {
  return of_gpu(__func__, device, [=](Machine& m, int) {
    return *status = m.settings.has_peers() ? 0 : 3, kSuccess;
  });
}
int nvmlDeviceGetNvLinkRemoteDeviceType(Device* device, unsigned, int*) {
  return of_gpu(__func__, device, [](Machine&, int) { return kNotSupported; });
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(Device* device, unsigned, void*) {
  return of_gpu(__func__, device, [](Machine&, int) { return kNotSupported; });
}
int nvmlDeviceGetGpuFabricInfoV(Device* device, void*) {
  return of_gpu(__func__, device, [](Machine&, int) { return kNotSupported; });
}
int nvmlDeviceGetTemperature(Device* device, int, unsigned*) {
  return of_gpu(__func__, device, [](Machine&, int) { return kNotSupported; });
}
int nvmlDeviceGetPowerUsage(Device* device, unsigned*) {
  return of_gpu(__func__, device, [](Machine&, int) { return kNotSupported; });
}
int nvmlDeviceGetClockInfo(Device* device, int, unsigned*) {
  return of_gpu(__func__, device, [](Machine&, int) { return kNotSupported; });
}

}  // extern "C"
