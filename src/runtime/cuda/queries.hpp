// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include "runtime/cuda/check.hpp"

namespace tandem::cuda {

/// Whether a query's status says "done". @throws DeviceError  it is neither that nor "not ready".
inline bool is_done(cudaError_t status, const char* call, int gpu) {
  if (status == cudaErrorNotReady) {
    cudaGetLastError();  // "not ready" is not an error of a launch
    return false;
  }
  check(status, call, gpu);
  return true;
}

/// Whether a GPU, which is current, has come to an event.
inline bool is_reached(CUevent_st* event, int gpu) {
  return is_done(cudaEventQuery(event), "cudaEventQuery", gpu);
}

/// Whether a stream of a GPU, which is current, has done all its work.
inline bool is_idle(CUstream_st* stream, int gpu) {
  return is_done(cudaStreamQuery(stream), "cudaStreamQuery", gpu);
}

}  // namespace tandem::cuda
