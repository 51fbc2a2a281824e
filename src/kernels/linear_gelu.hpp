// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tandem/runtime/stream.hpp"

#include "kernels/view.hpp"

namespace tandem::kernels {

/// GELU's exact form by erf, or the tanh approximation.
enum class GeluForm : std::uint8_t { exact, tanh };

/// pre = x @ weight + bias, y = gelu(pre), of any float type.
///
/// @param x       (m, k). @param weight  (k, n). Both have a matrix_layout.
/// @param bias    (n), dense; null data: none. @param pre, y  (m, n), dense row-major.
void linear_gelu(const HostStream& s,
                 GeluForm form,
                 const View& x,
                 const View& weight,
                 const View& bias,
                 const View& pre,
                 const View& y);
void linear_gelu(const CudaStream& s,
                 GeluForm form,
                 const View& x,
                 const View& weight,
                 const View& bias,
                 const View& pre,
                 const View& y);

/// dpre = dy * gelu'(pre), dbias = the sums of its columns, in one pass: the same bits for any
/// number of threads.
///
/// @param dy, pre, dpre  (m, n), dense row-major. @param dbias  (n), dense.
void gelu_grad_bias(const HostStream& s,
                    GeluForm form,
                    const View& dy,
                    const View& pre,
                    const View& dpre,
                    const View& dbias);
void gelu_grad_bias(const CudaStream& s,
                    GeluForm form,
                    const View& dy,
                    const View& pre,
                    const View& dpre,
                    const View& dbias);

}  // namespace tandem::kernels
