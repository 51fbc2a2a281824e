// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/cuda/nvml.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include <dlfcn.h>
#include <unistd.h>

#include "runtime/cuda/check.hpp"

namespace tandem::cuda {
namespace {

// What is called of NVML, as nvml.h declares it, which no toolkit needs to have.
using Status = int;
using Handle = struct nvmlDevice_st*;
constexpr Status kSuccess = 0;
constexpr Status kInsufficientSize = 7;
constexpr unsigned long long kNotAvailable = ~0ULL;

/// nvmlProcessInfo_v2_t, which nvmlDeviceGetComputeRunningProcesses_v3 fills.
struct ProcessInfo {
  unsigned int pid;
  unsigned long long used_gpu_memory;  // bytes
  unsigned int gpu_instance, compute_instance;
};
static_assert(sizeof(ProcessInfo) == 24);

constexpr int kMostTries = 8;       // each finds more processes than the one before
constexpr unsigned int kSpare = 8;  // places for processes that start meanwhile

class Nvml {
 public:
  Nvml() {
    void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    const auto init = find<Status()>(library, "nvmlInit_v2");
    by_bus_id_ = find<Status(const char*, Handle*)>(library, "nvmlDeviceGetHandleByPciBusId_v2");
    processes_ = find<Status(Handle, unsigned int*, ProcessInfo*)>(
        library, "nvmlDeviceGetComputeRunningProcesses_v3");
    const bool has_all = init != nullptr && by_bus_id_ != nullptr && processes_ != nullptr;
    usable_ = has_all && init() == kSuccess;
    if (!usable_) dlclose(library);
  }

  /// The processes that use the GPU at a place of the PCI bus; empty where NVML refuses.
  std::vector<ProcessInfo> processes(const char* bus_id) const {
    Handle device = nullptr;
    if (!usable_ || by_bus_id_(bus_id, &device) != kSuccess) return {};
    std::vector<ProcessInfo> list(kSpare);
    for (int i = 0; i < kMostTries; ++i) {
      auto n = static_cast<unsigned int>(list.size());
      const Status status = processes_(device, &n, list.data());
      if (status == kSuccess) {
        list.resize(std::min<std::size_t>(n, list.size()));
        return list;
      }
      if (status != kInsufficientSize) return {};
      list.resize(std::max<std::size_t>(n, list.size()) + kSpare);
    }
    return {};
  }

 private:
  template <class F>
  static F* find(void* library, const char* name) {
    return reinterpret_cast<F*>(dlsym(library, name));
  }

  Status (*by_bus_id_)(const char*, Handle*) = nullptr;
  Status (*processes_)(Handle, unsigned int*, ProcessInfo*) = nullptr;
  bool usable_ = false;
};

}  // namespace

std::optional<std::size_t> held_by_process(int gpu) {
  static const Nvml& nvml = *new Nvml;
  std::array<char, 32> bus_id{};  // "0000:01:00.0"
  const cudaError_t status =
      cudaDeviceGetPCIBusId(bus_id.data(), static_cast<int>(bus_id.size()), gpu);
  forgive(status);
  if (status != cudaSuccess) return std::nullopt;
  const auto list = nvml.processes(bus_id.data());
  const auto own = std::ranges::find(list, static_cast<unsigned int>(getpid()), &ProcessInfo::pid);
  if (own == list.end() || own->used_gpu_memory == kNotAvailable) return std::nullopt;
  return own->used_gpu_memory;
}

}  // namespace tandem::cuda
