// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/conv1d.hpp"

#include "tandem/core/check.hpp"
#include "tandem/ops/conv.hpp"

#include "core/checked_size.hpp"
#include "ops/autocast.hpp"
#include "ops/conv.hpp"

namespace tandem {
namespace {

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

}  // namespace

Tensor conv1d(const Tensor& input,
              const Tensor& weights,
              const Tensor& biases,
              Conv1dOptions options) {
  const Tensor x = as_factor(input), weight = as_factor(weights), bias = as_factor(biases);
  check_conv1d(x, weight, options);
  check_conv_bias("conv1d", bias, weight, weight.size(0));
  return conv2d(x.unsqueeze(2),
                weight.unsqueeze(2),
                bias,
                {.stride = {1, options.stride},
                 .padding = {0, options.padding},
                 .dilation = {1, options.dilation},
                 .groups = options.groups})
      .squeeze(2);
}

}  // namespace tandem
