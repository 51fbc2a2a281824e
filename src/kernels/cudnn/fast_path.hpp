// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/runtime/stream.hpp"

#include "kernels/conv.hpp"
#include "kernels/view.hpp"

// cuDNN behind the kernels of the same names: all float types, without bias. Each returns false,
// with nothing done, where cuDNN has no implementation that gives the same bits in every run.
// Compiled only where has_cudnn: name these inside `if constexpr (has_cudnn)`.
namespace tandem::kernels::cudnn {

bool conv2d(
    const CudaStream& s, const ConvSize& size, const View& x, const View& weight, const View& y);
bool conv2d_input_grad(
    const CudaStream& s, const ConvSize& size, const View& dy, const View& weight, const View& dx);
bool conv2d_weight_grad(
    const CudaStream& s, const ConvSize& size, const View& dy, const View& x, const View& dweight);

}  // namespace tandem::kernels::cudnn
