// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include "runtime/cuda/check_launch.hpp"

namespace tandem::cuda {

/// Throws DeviceError unless `status` is success.
///
/// @param call  the message names its text up to the parenthesis.
/// @param gpu   the GPU of the call; -1: the calling thread's.
void check(cudaError_t status, const char* call, int gpu = -1);

/// For a call whose failure is harmless. Clears the error, so that the next launch does not report
/// it.
inline void forgive(cudaError_t status) noexcept {
  if (status != cudaSuccess) cudaGetLastError();
}

/// Throws DeviceError if an earlier error has made the GPU unusable for this process.
void check_usable(int gpu);

/// Asks the GPU whether it takes work; throws DeviceError if it does not. For failures of
/// libraries, which do not tell an error of their own from one that has ended the use of the GPU.
///
/// @param call  of the library; the message names it.
void check_context(int gpu, const char* call);

/// The GPU of the calling thread; -1 if CUDA does not tell.
int current_gpu() noexcept;

/// Makes a GPU current for the calling thread. The process uses the GPU from then on.
///
/// @throws DeviceError
void choose_gpu(int gpu);
/// The same, if the GPU takes work.
///
/// @throws DeviceError
void use_gpu(int gpu);
/// A GPU that the process uses, the calling thread's if it is one; -1: there is none.
int used_gpu() noexcept;

/// Makes a GPU current for the calling thread in a scope. Does not throw, so destructors may use
/// it.
///
/// On a thread that has not chosen a GPU CUDA names GPU 0. Going back there would make a context on
/// it, which takes hundreds of megabytes. So the scope goes back to GPU 0 only if the process uses
/// it.
class GpuScope {
 public:
  explicit GpuScope(int gpu) noexcept;
  ~GpuScope();
  GpuScope(const GpuScope&) = delete;
  GpuScope& operator=(const GpuScope&) = delete;

 private:
  int before_;
  int gpu_;
};

}  // namespace tandem::cuda

/// Throws DeviceError with the call and the code unless the CUDA call succeeds.
#define TANDEM_CUDA(expr) ::tandem::cuda::check((expr), #expr)
