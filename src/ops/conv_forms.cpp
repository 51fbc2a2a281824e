// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Convolutions that are conv2d or one of its gradients, seen in another way.

#include <algorithm>

#include "tandem/core/check.hpp"
#include "tandem/ops/conv.hpp"
#include "tandem/ops/elementwise.hpp"
#include "tandem/ops/index.hpp"
#include "tandem/tensor/factories.hpp"

#include "core/checked_size.hpp"
#include "ops/autocast.hpp"
#include "ops/memory_format.hpp"

namespace tandem {
namespace {

void check_bias(const char* op, const Tensor& bias, const Tensor& weight, std::int64_t channels) {
  if (!bias.defined()) return;
  TANDEM_CHECK(bias.shape() == Shape{channels} && bias.dtype() == weight.dtype(),
               op,
               ": bias ",
               bias.describe(),
               " does not fit weight ",
               weight.describe(),
               "; expected (",
               channels,
               ") of the same type");
}

void check_conv1d(const Tensor& x, const Tensor& weight, const Conv1dOptions& o) {
  TANDEM_CHECK(x.ndim() == 3 && weight.ndim() == 3,
               "conv1d: needs x (N, C, L) and weight (O, C / groups, K), got ",
               x.shape(),
               " and ",
               weight.shape());
  TANDEM_CHECK(o.stride >= 1 && o.padding >= 0 && o.dilation >= 1 && o.groups >= 1,
               "conv1d: needs stride, dilation and groups >= 1 and padding >= 0, got ",
               o.stride,
               ", ",
               o.dilation,
               ", ",
               o.groups,
               " and ",
               o.padding);
  TANDEM_CHECK(x.size(1) % o.groups == 0 && weight.size(1) == x.size(1) / o.groups &&
                   weight.size(0) % o.groups == 0,
               "conv1d: x ",
               x.shape(),
               " and weight ",
               weight.shape(),
               " do not fit with groups ",
               o.groups,
               "; expected weight (O, ",
               x.size(1),
               " / groups, K) with O a multiple of groups");
  const std::int64_t reach = (CheckedSize("conv1d", o.dilation) * (weight.size(2) - 1) + 1).value(),
                     padded = (CheckedSize("conv1d", o.padding) * 2 + x.size(2)).value();
  TANDEM_CHECK(weight.size(2) >= 1 && reach <= padded,
               "conv1d: the kernel of weight ",
               weight.shape(),
               " spans ",
               reach,
               " columns, but x ",
               x.shape(),
               " has only ",
               padded,
               " with its padding; pad more, or use a smaller kernel");
}

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

Tensor conv1d(const Tensor& input,
              const Tensor& weights,
              const Tensor& biases,
              Conv1dOptions options) {
  const Tensor x = as_factor(input), weight = as_factor(weights), bias = as_factor(biases);
  check_conv1d(x, weight, options);
  check_bias("conv1d", bias, weight, weight.size(0));
  return conv2d(x.unsqueeze(2),
                weight.unsqueeze(2),
                bias,
                {.stride = {1, options.stride},
                 .padding = {0, options.padding},
                 .dilation = {1, options.dilation},
                 .groups = options.groups})
      .squeeze(2);
}

Tensor conv_transpose2d(const Tensor& input,
                        const Tensor& weights,
                        const Tensor& biases,
                        ConvTranspose2dOptions options) {
  const Tensor x = as_factor(input), weight = as_factor(weights), bias = as_factor(biases);
  check_conv_transpose2d(x, weight, options);
  const std::int64_t channels =
      (CheckedSize("conv_transpose2d", weight.size(1)) * options.groups).value();
  check_bias("conv_transpose2d", bias, weight, channels);
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
