// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tandem/core/dtype.hpp"
#include "tandem/runtime/stream.hpp"

namespace tandem::kernels {

/// x[i] /= divisor for i in [begin, end), of floats; other types are left as they are. Runs on the
/// calling thread.
void divide(DType dtype, void* x, double divisor, std::int64_t begin, std::int64_t end);

/// The same on a GPU.
void divide(const CudaStream& s,
            DType dtype,
            void* x,
            double divisor,
            std::int64_t begin,
            std::int64_t end);

}  // namespace tandem::kernels
