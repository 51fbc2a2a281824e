// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// The functions of NVML that the backend loads, with their declarations in nvml.h: this is
// libnvidia-ml.so.1 for a test that has loaded it. Failures and counts of calls are the machine's.

#include <algorithm>

#include "stand_in/machine.hpp"

namespace tandem::stand_in {
namespace {

constexpr int kInsufficientSize = 7;

struct nvmlProcessInfo_v2_t {
  unsigned int pid;
  unsigned long long usedGpuMemory;
  unsigned int gpuInstanceId;
  unsigned int computeInstanceId;
};

template <class F>
int call(const char* name, F f) {
  Machine& m = Machine::get();
  const std::lock_guard lock(m.mutex);
  try {
    m.enter(name, 0);
    f(m);
    return 0;
  } catch (cudaError_t status) {
    return status;
  }
}

}  // namespace
}  // namespace tandem::stand_in

using namespace tandem::stand_in;

/// A GPU of the machine.
struct nvmlDevice_st {
  std::vector<GpuProcess> processes;
};

extern "C" {

int nvmlInit_v2() {
  return call(__func__, [](Machine&) {});
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* id, nvmlDevice_st** device) {
  return call(__func__, [=](Machine& m) {
    need(m.failures.calls("nvmlInit_v2") > 0);
    static nvmlDevice_st devices[kMostGpus];
    for (int gpu = 0; gpu < m.gpus; ++gpu) {
      if (id != bus_id(gpu)) continue;
      devices[gpu].processes = m.processes[gpu];
      *device = &devices[gpu];
      return;
    }
    throw cudaErrorInvalidDevice;
  });
}

int nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_st* device,
                                            unsigned int* n,
                                            nvmlProcessInfo_v2_t* infos) {
  return call(__func__, [=](Machine&) {
    const auto& all = device->processes;
    const std::size_t places = std::exchange(*n, static_cast<unsigned int>(all.size()));
    need(all.size() <= places, static_cast<cudaError_t>(kInsufficientSize));
    std::ranges::transform(all, infos, [](const GpuProcess& p) {
      return nvmlProcessInfo_v2_t{p.pid, p.nbytes, UINT32_MAX, UINT32_MAX};
    });
  });
}

}  // extern "C"
