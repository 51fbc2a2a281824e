// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// The products that there are: at the end of the file that defines them.
#pragma once

#include "kernels/cuda/gemm.hpp"

namespace tandem::kernels {

template void gemm(const CudaStream&,
                   GemmSize,
                   Operand<float>,
                   Operand<float>,
                   float,
                   float*,
                   std::int64_t,
                   const float*,
                   GemmBatch);
template void gemm(const CudaStream&,
                   GemmSize,
                   Operand<double>,
                   Operand<double>,
                   double,
                   double*,
                   std::int64_t,
                   const double*,
                   GemmBatch);
template void gemm(const CudaStream&,
                   GemmSize,
                   Operand<BFloat16>,
                   Operand<BFloat16>,
                   float,
                   BFloat16*,
                   std::int64_t,
                   const BFloat16*,
                   GemmBatch);
template void gemm(const CudaStream&,
                   GemmSize,
                   Operand<Half>,
                   Operand<Half>,
                   float,
                   Half*,
                   std::int64_t,
                   const Half*,
                   GemmBatch);
template void gemm(const CudaStream&,
                   GemmSize,
                   Operand<BFloat16>,
                   Operand<BFloat16>,
                   float,
                   float*,
                   std::int64_t,
                   const float*,
                   GemmBatch);
template void gemm(const CudaStream&,
                   GemmSize,
                   Operand<Half>,
                   Operand<Half>,
                   float,
                   float*,
                   std::int64_t,
                   const float*,
                   GemmBatch);
template bool gemm_gelu(
    const CudaStream&, GemmSize, Operand<float>, Operand<float>, const float*, float*, float*);
template bool gemm_gelu(const CudaStream&,
                        GemmSize,
                        Operand<BFloat16>,
                        Operand<BFloat16>,
                        const BFloat16*,
                        BFloat16*,
                        BFloat16*);
template bool gemm_gelu(
    const CudaStream&, GemmSize, Operand<Half>, Operand<Half>, const Half*, Half*, Half*);

}  // namespace tandem::kernels
