// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// libcuda.so.1: the calls about GPUs of CUDA's driver.

#include <mutex>

#include <cuda.h>

#include "stand_in/machine/machine.hpp"

using tandem::stand_in::Machine;

extern "C" {

CUresult cuDevicePrimaryCtxGetState(CUdevice gpu, unsigned* flags, int* active) {
  Machine& m = Machine::get();
  const std::lock_guard lock(m.mutex);
  *flags = 0;
  *active = m.contexts.contains(gpu) ? 1 : 0;
  return CUDA_SUCCESS;
}
// What memory can besides: it is given to no other process and no network.
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute, CUdevice) {
  return *value = 0, CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult result, const char** text) {
  *text = result == CUDA_ERROR_OUT_OF_MEMORY ? "out of memory" : "an error of the driver";
  return CUDA_SUCCESS;
}

}  // extern "C"
