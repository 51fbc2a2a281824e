// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/conv_transpose2d.hpp"

#include <algorithm>

#include "tandem/core/check.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/conv.hpp"
#include "tandem/ops/index.hpp"
#include "tandem/tensor/factories.hpp"

#include "core/checked_size.hpp"
#include "ops/autocast.hpp"
#include "ops/conv.hpp"
#include "ops/memory_format.hpp"

namespace tandem {
namespace {

void check_conv_transpose2d(const Tensor& x,
                            const Tensor& weight,
                            const ConvTranspose2dOptions& o) {
  TANDEM_CHECK(x.ndim() == 4 && weight.ndim() == 4 && x.size(1) == weight.size(0),
               "conv_transpose2d: needs x (N, C, H, W) and weight (C, O / groups, kH, kW), got ",
               x.shape(),
               " and ",
               weight.shape());
  TANDEM_CHECK(o.groups >= 1 && x.size(1) % o.groups == 0,
               "conv_transpose2d: the channels of x ",
               x.shape(),
               " must be a multiple of groups ",
               o.groups);
  for (const std::size_t axis : {std::size_t{0}, std::size_t{1}}) {
    TANDEM_CHECK(o.stride[axis] >= 1 && o.padding[axis] >= 0 && o.dilation[axis] >= 1,
                 "conv_transpose2d: needs stride >= 1, padding >= 0 and dilation >= 1, got ",
                 o.stride[axis],
                 ", ",
                 o.padding[axis],
                 ", ",
                 o.dilation[axis]);
    TANDEM_CHECK(o.output_padding[axis] >= 0 &&
                     o.output_padding[axis] < std::max(o.stride[axis], o.dilation[axis]),
                 "conv_transpose2d: output_padding ",
                 o.output_padding[axis],
                 " must be less than the stride ",
                 o.stride[axis],
                 " or the dilation ",
                 o.dilation[axis]);
  }
}

/// Rows (axis 0) or columns (1) of the result.
std::int64_t transposed_size(const Tensor& x,
                             const Tensor& weight,
                             const ConvTranspose2dOptions& o,
                             int axis) {
  const auto a = static_cast<std::size_t>(axis);
  const auto times = [](std::int64_t size, std::int64_t factor) {
    return CheckedSize("conv_transpose2d", size) * factor;
  };
  const std::int64_t size =
      (times(x.size(2 + axis) - 1, o.stride[a]) - times(o.padding[a], 2) +
       times(o.dilation[a], weight.size(2 + axis) - 1) + o.output_padding[a] + 1)
          .value();
  TANDEM_CHECK(size >= 1,
               "conv_transpose2d: the padding ",
               o.padding[a],
               " leaves ",
               size,
               axis == 0 ? " rows" : " columns",
               " of the output for x ",
               x.shape(),
               " and weight ",
               weight.shape(),
               "; pad less");
  return size;
}

/// `x` with rows (axis 0) or columns (1) of zeros behind: as many as the convolution that is undone
/// would make of `output_padding`, which makes none of less than a stride.
Tensor padded_behind(const Tensor& x, const ConvTranspose2dOptions& o, int axis) {
  const auto a = static_cast<std::size_t>(axis);
  const std::int64_t more = o.output_padding[a] / o.stride[a];
  if (more == 0) return x;
  Shape shape = x.shape();
  shape[2 + axis] = more;
  return cat({x, zeros(shape, {.dtype = x.dtype(), .device = x.device()})}, 2 + axis);
}

}  // namespace

Tensor conv_transpose2d(const Tensor& input,
                        const Tensor& weights,
                        const Tensor& biases,
                        ConvTranspose2dOptions options) {
  const Tensor x = as_factor(input), weight = as_factor(weights), bias = as_factor(biases);
  check_conv_transpose2d(x, weight, options);
  const std::int64_t channels =
      (CheckedSize("conv_transpose2d", weight.size(1)) * options.groups).value();
  check_conv_bias("conv_transpose2d", bias, weight, channels);
  const Shape shape{x.size(0),
                    channels,
                    transposed_size(x, weight, options, 0),
                    transposed_size(x, weight, options, 1)};
  const Tensor padded = padded_behind(padded_behind(x, options, 0), options, 1);
  const Tensor y = conv2d_input_grad(padded.is(x) ? x : padded.contiguous(format_of(x)),
                                     weight,
                                     shape,
                                     {.stride = options.stride,
                                      .padding = options.padding,
                                      .dilation = options.dilation,
                                      .groups = options.groups});
  return bias.defined() ? y + bias.reshape({1, channels, 1, 1}) : y;
}

}  // namespace tandem
