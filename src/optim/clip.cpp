// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/optim/clip.hpp"

#include <cmath>
#include <limits>

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/ops/unary.hpp"
#include "tandem/optim/arena_sharing.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/tensor/access.hpp"
#include "tandem/tensor/factories.hpp"

#include "kernels/optimizer.hpp"
#include "optim/gradients.hpp"

namespace tandem::optim {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// (sum |x|^p)^(1/p) over all elements; the largest |x| for infinity.
Tensor norm_of(const std::vector<Tensor>& grads, double p) {
  if (p == 2) return global_norm(grads);
  Tensor total = zeros({}, {.dtype = grads.front().dtype(), .device = grads.front().device()});
  for (const Tensor& x : grads) {
    if (x.numel() == 0) continue;
    total = p == kInfinity ? maximum(total, amax(abs(x))) : total + sum(pow(abs(x), p));
  }
  return p == kInfinity ? total : pow(total, 1 / p);
}

/// The norm of the gradients of all ranks, of which these are this one's.
Tensor norm_of(const std::vector<Tensor>& grads, const ArenaSharing* ranks, double p) {
  if (ranks == nullptr) return norm_of(grads, p);
  const ArenaSlice any = ranks->slices().front();
  const TensorOptions options{.dtype = any.params.dtype(), .device = any.params.device()};
  const Tensor own = grads.empty() ? zeros({}, options) : norm_of(grads, p);
  if (p == kInfinity) {
    ranks->all_reduce(own, ArenaSharing::OverRanks::max);
    return own;
  }
  const Tensor total = pow(own, p);
  ranks->all_reduce(total, ArenaSharing::OverRanks::sum);
  return pow(total, 1 / p);
}

void scale(const std::vector<Tensor>& grads, const Tensor& factor) {
  for (const Tensor& x : grads) {
    const Tensor by = factor.to(x.dtype());
    const Work work = make_work(Work::Kind::elementwise, "clip_grad_norm_", {x, by}, {x});
    dispatch_on_any(x.stream(), work, [&](auto& s) {
      kernels::scale(s, x.dtype(), x.numel(), x.data(), by.data());
    });
  }
}

}  // namespace

Tensor clip_grad_norm_(const std::vector<Tensor>& parameters,
                       double max_norm,
                       ClipOptions options) {
  TANDEM_CHECK(options.norm_type > 0,
               "clip_grad_norm_: norm_type is ",
               options.norm_type,
               "; it must be above 0");
  TANDEM_CHECK(
      max_norm >= 0, "clip_grad_norm_: max_norm is ", max_norm, "; it may not be negative");
  const autograd::NoGrad off;
  const std::vector<Tensor> grads = gradient_runs(parameters);
  const std::shared_ptr<ArenaSharing> ranks = ranks_of(parameters);
  if (grads.empty() && ranks == nullptr) {
    return zeros({}, {.device = parameters.empty() ? Device{} : parameters.front().device()});
  }
  const Device device = grads.empty() ? parameters.front().device() : grads.front().device();
  for (const Tensor& x : grads) {
    TANDEM_CHECK(x.device() == device,
                 "clip_grad_norm_: gradients are on ",
                 device,
                 " and ",
                 x.device(),
                 "; clip the parameters of one device");
  }
  const Tensor norm = norm_of(grads, ranks.get(), options.norm_type);
  TANDEM_CHECK(!options.error_if_nonfinite || std::isfinite(norm.item_or(0)),
               "clip_grad_norm_: the norm of the gradients on ",
               device,
               " is ",
               norm.item(),
               "; lower the learning rate, or look at the loss");
  scale(grads, minimum(max_norm / (norm + 1e-6), ones_like(norm)));
  return norm;
}

void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value) {
  TANDEM_CHECK(
      clip_value >= 0, "clip_grad_value_: clip_value is ", clip_value, "; it may not be negative");
  for (const Tensor& x : gradient_runs(parameters)) {
    dispatch_on_any(
        x.stream(), make_work(Work::Kind::elementwise, "clip_grad_value_", {x}, {x}), [&](auto& s) {
          kernels::clamp(s, x.dtype(), x.numel(), x.data(), clip_value);
        });
  }
}

}  // namespace tandem::optim
