// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// libcuda.so.1: the one call of CUDA's driver that PyTorch makes without kernels of its own making.

#include <mutex>

#include <cuda.h>

#include "stand_in/machine/machine.hpp"

using tandem::stand_in::Machine;

extern "C" CUresult cuDevicePrimaryCtxGetState(CUdevice gpu, unsigned* flags, int* active) {
  Machine& m = Machine::get();
  const std::lock_guard lock(m.mutex);
  *flags = 0;
  *active = m.contexts.contains(gpu) ? 1 : 0;
  return CUDA_SUCCESS;
}
