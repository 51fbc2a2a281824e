// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tandem/runtime/stream.hpp"

#include "kernels/view.hpp"

namespace tandem::kernels {

/// dweight[v] = the sum of the rows of dy whose index is v, in their order; zero for `padding`.
///
/// @param dy       (n, width), dense. @param index  i64 (n), dense, within dweight.
/// @param dweight  (vocabulary, width), dense.
/// @param padding  an entry without a gradient; negative: none.
void embedding_grad(const HostStream& s,
                    const View& dy,
                    const View& index,
                    std::int64_t padding,
                    const View& dweight);
void embedding_grad(const CudaStream& s,
                    const View& dy,
                    const View& index,
                    std::int64_t padding,
                    const View& dweight);

}  // namespace tandem::kernels
