// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

#include <cuda_runtime_api.h>

#include "stand_in/machine/machine.hpp"

namespace tandem::stand_in {

/// The calling thread's GPU and its last error, as CUDA keeps them.
int& current_gpu();
cudaError_t& last_error();

/// The stream of a handle, for the calling thread. Its GPU has a context from here on.
CUstream_st* stream_of(Machine& m, cudaStream_t handle);

/// What a call does before its work: it is counted, and may be told to fail.
cudaError_t begin_call(Machine& m, const char* name);

/// Runs a call of CUDA's run-time under the machine's lock.
template <class F>
cudaError_t call(const char* name, F work) {
  Machine& m = Machine::get();
  const std::lock_guard lock(m.mutex);
  cudaError_t status = begin_call(m, name);
  if (status == cudaSuccess) status = work(m);
  if (status != cudaSuccess && status != cudaErrorNotReady) last_error() = status;
  return status;
}

}  // namespace tandem::stand_in
