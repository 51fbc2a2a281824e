// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// The gradient of an RMS norm, which the host takes through the ops that it composes the norm of.

#include <array>
#include <tuple>
#include <vector>

#include <ATen/ATen.h>

#include "stand_in/torch/families.hpp"

namespace tandem::stand_in {
namespace {

std::tuple<at::Tensor, at::Tensor> rms_norm_backward(const at::Tensor& dy,
                                                     const at::Tensor& x,
                                                     at::IntArrayRef shape,
                                                     const at::Tensor& rstd,
                                                     const std::optional<at::Tensor>& weight,
                                                     std::array<bool, 2> needed) {
  const bool has_weight = weight.has_value() && weight->defined();
  std::vector<std::int64_t> inner, outer;
  for (std::int64_t d = 0; d < x.dim(); ++d)
    (d < x.dim() - static_cast<std::int64_t>(shape.size()) ? outer : inner).push_back(d);
  const auto wide = rstd.scalar_type();
  const at::Tensor normal = x.to(wide) * rstd;
  const at::Tensor slope = has_weight ? dy.to(wide) * weight->to(wide) : dy.to(wide);
  at::Tensor of_x, of_weight;
  if (needed[0])
    of_x = (rstd * (slope - normal * (slope * normal).mean(inner, true))).to(x.scalar_type());
  if (needed[1] && has_weight) {
    of_weight = dy.to(wide) * normal;
    if (!outer.empty()) of_weight = of_weight.sum(outer);
    of_weight = of_weight.to(weight->scalar_type());
  }
  return {of_x, of_weight};
}

}  // namespace

void register_rms_norm(torch::Library& host) {
  host.impl("_fused_rms_norm_backward", rms_norm_backward);
}

}  // namespace tandem::stand_in
