// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "tandem/runtime/stream.hpp"

#include "kernels/view.hpp"

namespace tandem::kernels {

using Pair = std::array<std::int64_t, 2>;  ///< height, width

/// Sizes of a 2-D convolution; o = output channels, oh and ow its height and width.
struct ConvSize {
  std::int64_t n = 0, c = 0, h = 0, w = 0;
  std::int64_t o = 0, kh = 0, kw = 0, oh = 0, ow = 0;
  Pair stride{1, 1};
  Pair padding{0, 0};
  Pair dilation{1, 1};
  std::int64_t groups = 1;

  std::int64_t rows() const noexcept { return n * oh; }  ///< of the output, over all images
  std::int64_t patch() const noexcept {
    return c / groups * kh * kw;
  }  ///< elements behind an output element
  std::int64_t multiply_adds() const noexcept { return rows() * ow * o * patch(); }
  double flops() const noexcept { return 2.0 * static_cast<double>(multiply_adds()); }
};

/// Weights of (o, kh, kw, c / groups) in memory, the order of a patch of a channels-last image,
/// seen in the order of the logical shape (o, c / groups, kh, kw).
inline View patch_order(const ConvSize& z, void* data, DType t) {
  const std::int64_t cg = z.c / z.groups;
  return {data, t, {z.o, cg, z.kh, z.kw}, {z.patch(), 1, z.kw * cg, cg}};
}

// x (n, c, h, w) and y, dy (n, o, oh, ow) are dense, both channels-last or both row-major; weights
// (o, c / groups, kh, kw) and bias (o) are dense row-major. Workspace comes from the device's
// allocator. On the host the weights' gradient with channels-last is our own
// (conv_weight_grad.hpp); f32 and bf16 with channels-last else run through oneDNN where it is
// there, and has them for the CPU, or direct (conv_direct.hpp) where that is faster. On a GPU all
// goes through cuDNN where it is there. All else is im2col and GEMM, of 16 bits widened to f32
// (widened_conv.hpp).

/// y = conv(x, weight) + bias. @param bias  null data: none.
void conv2d(const HostStream& s,
            const ConvSize& size,
            const View& x,
            const View& weight,
            const View& bias,
            const View& y);
void conv2d(const CudaStream& s,
            const ConvSize& size,
            const View& x,
            const View& weight,
            const View& bias,
            const View& y);
/// The gradient of conv2d with respect to x.
void conv2d_input_grad(
    const HostStream& s, const ConvSize& size, const View& dy, const View& weight, const View& dx);
void conv2d_input_grad(
    const CudaStream& s, const ConvSize& size, const View& dy, const View& weight, const View& dx);
/// The gradients with respect to weight and bias. @param dbias  null data: not wanted.
void conv2d_weight_grad(const HostStream& s,
                        const ConvSize& size,
                        const View& dy,
                        const View& x,
                        const View& dweight,
                        const View& dbias);
void conv2d_weight_grad(const CudaStream& s,
                        const ConvSize& size,
                        const View& dy,
                        const View& x,
                        const View& dweight,
                        const View& dbias);

}  // namespace tandem::kernels
