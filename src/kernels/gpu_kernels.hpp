// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "tandem/core/dtype.hpp"
#include "tandem/runtime/stream.hpp"

#include "kernels/sum_ranks.hpp"

namespace tandem::kernels {

/// The kernels that collectives of GPUs need: tandem's own in a build with CUDA, or those that come
/// with a GpuBackend that another library has registered.
///
/// Thread-safe. Every function queues work on the stream, and throws DeviceError if the GPU
/// refuses.
class GpuKernels {
 public:
  GpuKernels() = default;
  virtual ~GpuKernels() = default;
  GpuKernels(const GpuKernels&) = delete;
  GpuKernels& operator=(const GpuKernels&) = delete;

  /// See kernels::sum_ranks. The GPU reaches all that is pointed to; at most kMaxDevices sources
  /// and targets.
  virtual void sum_ranks(const Stream& stream,
                         Reduction reduction,
                         DType dtype,
                         std::span<const void* const> sources,
                         std::span<void* const> targets,
                         std::int64_t begin,
                         std::int64_t end,
                         std::span<const double> factors) = 0;
  /// See kernels::divide.
  virtual void divide(const Stream& stream,
                      DType dtype,
                      void* x,
                      double divisor,
                      std::int64_t begin,
                      std::int64_t end) = 0;
};

/// The process's. Lives until the process ends.
/// @throws InternalError  there are none, and so no GPUs.
GpuKernels& gpu_kernels();

/// Makes them another library's, from now on. The process uses no GPU yet.
void register_gpu_kernels(std::unique_ptr<GpuKernels> kernels);

}  // namespace tandem::kernels
