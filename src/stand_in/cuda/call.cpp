// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "stand_in/cuda/call.hpp"

namespace tandem::stand_in {
int& current_gpu() {
  static thread_local int gpu = 0;
  return gpu;
}

cudaError_t& last_error() {
  static thread_local cudaError_t error = cudaSuccess;
  return error;
}

CUstream_st* stream_of(Machine& m, cudaStream_t handle) {
  m.contexts.insert(current_gpu());
  return m.stream(handle, current_gpu());
}

cudaError_t begin_call(Machine& m, const char* name) {
  const auto code = static_cast<cudaError_t>(m.failures.count(name));
  if (ends_gpu(code)) m.error(current_gpu()) = code;
  return code != cudaSuccess ? code : static_cast<cudaError_t>(m.error(current_gpu()));
}

}  // namespace tandem::stand_in
