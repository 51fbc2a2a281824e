// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "stand_in/cuda/call.hpp"

namespace tandem::stand_in {
namespace {

/// After these a GPU takes no more work of the process.
bool is_sticky(cudaError_t code) {
  return code == cudaErrorIllegalAddress || code == cudaErrorLaunchTimeout ||
         code == cudaErrorContextIsDestroyed || code == cudaErrorAssert ||
         (code >= cudaErrorHardwareStackError && code <= cudaErrorLaunchFailure);
}

}  // namespace

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
  if (is_sticky(code)) m.error(current_gpu()) = code;
  return code != cudaSuccess ? code : static_cast<cudaError_t>(m.error(current_gpu()));
}

}  // namespace tandem::stand_in
