// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/gpu_kernels.hpp"

namespace tandem::kernels {

/// tandem's own. The definitions exist only in builds with CUDA.
class CudaKernels final : public GpuKernels {
 public:
  void sum_ranks(const Stream& stream,
                 Reduction reduction,
                 DType dtype,
                 std::span<const void* const> sources,
                 std::span<void* const> targets,
                 std::int64_t begin,
                 std::int64_t end,
                 std::span<const double> factors) override;
  void divide(const Stream& stream,
              DType dtype,
              void* x,
              double divisor,
              std::int64_t begin,
              std::int64_t end) override;
};

}  // namespace tandem::kernels
