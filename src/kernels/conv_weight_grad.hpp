// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/conv.hpp"
#include "kernels/vector.hpp"

namespace tandem::kernels {

/// Whether weight_grad takes `z`. Not where the library is compiled for any machine: oneDNN and
/// OpenBLAS then have the wider vectors.
template <class T>
bool has_weight_grad(const ConvSize& z) {
  return kVectorBytes >= 32 && z.groups == 1 && z.o % kLanes<T> == 0 && z.rows() * z.ow > 0;
}

/// conv2d_weight_grad of channels-last x and dy, by products in registers. It has the same bits on
/// any number of threads.
template <class T>
void weight_grad(const HostStream& s,
                 const ConvSize& z,
                 const View& dy,
                 const View& x,
                 const View& dweight,
                 const View& dbias);

}  // namespace tandem::kernels
