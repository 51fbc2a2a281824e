// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include <cuda_runtime_api.h>

namespace tandem::cuda {

/// Throws DeviceError unless `status` is success.
///
/// @param call  its text up to the parenthesis is named.
/// @param gpu   that the call concerns; -1: the calling thread's.
void check(cudaError_t status, const char* call, int gpu = -1);

/// For a call that may fail without harm: else the thread's next launch would seem to have failed.
inline void forgive(cudaError_t status) noexcept {
  if (status != cudaSuccess) cudaGetLastError();
}

/// Throws DeviceError where an earlier error has ended the GPU's use by this process.
void check_usable(int gpu);

/// The GPU of the calling thread; -1 where CUDA does not say.
int current_gpu() noexcept;

/// Waits for a stream's work where no context's deadline does.
///
/// @return  whether it has ended, and well, within `patience`.
bool ends_within(std::chrono::steady_clock::duration patience, CUstream_st* stream) noexcept;

/// Makes a GPU the calling thread's for a scope; does not throw, so that destructors may use it.
class GpuScope {
 public:
  explicit GpuScope(int gpu) noexcept : before_(current_gpu()) {
    if (before_ != gpu) forgive(cudaSetDevice(gpu));
  }
  ~GpuScope() {
    if (before_ >= 0) forgive(cudaSetDevice(before_));
  }
  GpuScope(const GpuScope&) = delete;
  GpuScope& operator=(const GpuScope&) = delete;

 private:
  int before_;
};

}  // namespace tandem::cuda

/// Throws DeviceError with call and code unless the CUDA call succeeds.
#define TANDEM_CUDA(expr) ::tandem::cuda::check((expr), #expr)
