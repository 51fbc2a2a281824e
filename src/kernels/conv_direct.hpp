// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/conv.hpp"
#include "kernels/unpacked_gemm.hpp"

// Channels-last convolution whose patches are read from the padded image itself: im2col's copy and
// the packing of a library's GEMM take as long as the products where patches are small, as in the
// first layer of a network. Symbols as in im2col.hpp; arguments as in conv.hpp.
namespace tandem::kernels {

/// Elements of a patch up to which the direct convolution is measured to be the faster one.
inline constexpr std::int64_t kDirectPatch = 576;

/// Whether the direct convolution takes `z`. Not where the library is compiled for any machine:
/// OpenBLAS then has the wider vectors.
template <class T>
bool is_direct(const ConvSize& z) {
  return kVectorBytes >= 32 && z.groups == 1 && z.kh * z.kw > 1 && z.patch() <= kDirectPatch &&
         z.o % kLanes<T> == 0 && z.rows() * z.ow > 0;
}

template <class T>
void direct_forward(const HostStream& s,
                    const ConvSize& z,
                    const View& x,
                    const View& w,
                    const View& bias,
                    const View& y);

template <class T>
void direct_input_grad(
    const HostStream& s, const ConvSize& z, const View& dy, const View& w, const View& dx);

}  // namespace tandem::kernels
