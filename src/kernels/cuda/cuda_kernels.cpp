// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cuda/cuda_kernels.hpp"

#include "tandem/runtime/dispatch.hpp"

#include "kernels/divide.hpp"

namespace tandem::kernels {

void CudaKernels::sum_ranks(const Stream& stream,
                            Reduction reduction,
                            DType dtype,
                            std::span<const void* const> sources,
                            std::span<void* const> targets,
                            std::int64_t begin,
                            std::int64_t end,
                            std::span<const double> factors) {
  const CudaStream cuda = tandem::detail::cuda_stream(stream);
  kernels::sum_ranks(cuda, reduction, dtype, sources, targets, begin, end, factors);
}

void CudaKernels::divide(const Stream& stream,
                         DType dtype,
                         void* x,
                         double divisor,
                         std::int64_t begin,
                         std::int64_t end) {
  kernels::divide(tandem::detail::cuda_stream(stream), dtype, x, divisor, begin, end);
}

}  // namespace tandem::kernels
