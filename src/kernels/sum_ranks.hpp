// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "tandem/core/dtype.hpp"
#include "tandem/runtime/stream.hpp"

namespace tandem::kernels {

enum class Reduction : std::uint8_t { sum, avg, min, max, product, band, bor, bxor, premul_sum };

/// targets[*][i] = the reduction over `sources`, in their order, of sources[*][i], for i in
/// [begin, end). Runs on the calling thread; a source may be a target.
///
/// With one source it is a copy, but for premul_sum, which adds factors[r] * sources[r][i]. NaN
/// wins in min and max; integer sums and products wrap; a product of bools is "and".
///
/// @param factors  one for each source, with premul_sum alone, which is for floats; band, bor and
///                 bxor are for integers and bool. Others leave the targets as they are.
void sum_ranks(Reduction reduction,
               DType dtype,
               std::span<const void* const> sources,
               std::span<void* const> targets,
               std::int64_t begin,
               std::int64_t end,
               std::span<const double> factors = {});

/// The same on a GPU, which reaches all that is pointed to; at most kMaxDevices sources and
/// targets.
void sum_ranks(const CudaStream& s,
               Reduction reduction,
               DType dtype,
               std::span<const void* const> sources,
               std::span<void* const> targets,
               std::int64_t begin,
               std::int64_t end,
               std::span<const double> factors = {});

}  // namespace tandem::kernels
