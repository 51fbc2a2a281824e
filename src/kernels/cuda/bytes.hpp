// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "tandem/runtime/stream.hpp"

#include "runtime/cuda/check.hpp"

// What CUDA does without a kernel of ours.
namespace tandem::kernels {

/// Copies bytes within the memory of a stream's GPU. @throws DeviceError
inline void copy_bytes(const CudaStream& s, const void* from, void* to, std::size_t nbytes) {
  if (nbytes == 0 || from == to) return;
  TANDEM_CUDA(cudaMemcpyAsync(to, from, nbytes, cudaMemcpyDeviceToDevice, s.native));
}

/// All bits become zero. @throws DeviceError
inline void clear_bytes(const CudaStream& s, void* p, std::size_t nbytes) {
  if (nbytes > 0) TANDEM_CUDA(cudaMemsetAsync(p, 0, nbytes, s.native));
}

}  // namespace tandem::kernels
