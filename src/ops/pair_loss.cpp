// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Losses of two tensors of one shape, element by element.

#include "tandem/core/check.hpp"
#include "tandem/ops/activation.hpp"
#include "tandem/ops/elementwise.hpp"
#include "tandem/ops/loss.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/tensor/factories.hpp"

#include "ops/autocast.hpp"
#include "ops/output.hpp"
#include "ops/reduce_loss.hpp"
#include "ops/run_curve.hpp"

namespace tandem {
namespace {

using kernels::Curve;

void check_shapes(const char* op, const Tensor& a, const Tensor& b) {
  TANDEM_CHECK(
      a.shape() == b.shape(), op, ": the shapes ", a.shape(), " and ", b.shape(), " differ");
}

Tensor difference(const char* op, const Tensor& a, const Tensor& b) {
  check_shapes(op, a, b);
  return as_float(widened(a) - widened(b));
}

Tensor squared_errors(const Tensor& a, const Tensor& b) {
  return square(difference("mse_loss", a, b));
}
Tensor absolute_errors(const Tensor& a, const Tensor& b) {
  return abs(difference("l1_loss", a, b));
}

Tensor smooth_errors(const Tensor& a, const Tensor& b, double beta) {
  TANDEM_CHECK(beta >= 0, "smooth_l1_loss: beta is ", beta, "; it may not be negative");
  return run_curve("smooth_l1_loss", Curve::smooth_l1, difference("smooth_l1_loss", a, b), beta, 1);
}

Tensor huber_errors(const Tensor& a, const Tensor& b, double delta) {
  TANDEM_CHECK(delta > 0, "huber_loss: delta is ", delta, "; it must be above 0");
  return run_curve("huber_loss", Curve::smooth_l1, difference("huber_loss", a, b), delta, delta);
}

Tensor binary_entropies(const Tensor& logits, const Tensor& target, const BceOptions& options) {
  check_shapes("bce_with_logits", logits, target);
  TANDEM_CHECK(
      is_float(logits.dtype()), "bce_with_logits: needs float logits, got ", logits.describe());
  if (is_float16(logits.dtype())) return binary_entropies(widened(logits), target, options);
  const Tensor t = target.to(logits.dtype());
  Tensor yes = logsigmoid(logits);
  if (options.pos_weight.defined())
    yes = yes * (1.0 + (options.pos_weight.to(logits.dtype()) - 1.0) * t);
  const Tensor losses = (1.0 - t) * logits - yes;
  TANDEM_CHECK(losses.shape() == logits.shape(),
               "bce_with_logits: pos_weight ",
               options.pos_weight.shape(),
               " does not broadcast to ",
               logits.shape());
  if (!options.weight.defined()) return losses;
  const Tensor weighted = losses * options.weight.to(logits.dtype());
  TANDEM_CHECK(weighted.shape() == logits.shape(),
               "bce_with_logits: weight ",
               options.weight.shape(),
               " does not broadcast to ",
               logits.shape());
  return weighted;
}

Tensor divergences(const Tensor& input, const Tensor& target, KlTarget form) {
  check_shapes("kl_div", input, target);
  TANDEM_CHECK(is_float(input.dtype()) && is_float(target.dtype()),
               "kl_div: needs float tensors, got ",
               input.describe(),
               " and ",
               target.describe());
  if (is_float16(input.dtype()) || is_float16(target.dtype()))
    return divergences(widened(input), widened(target), form);
  if (form == KlTarget::log_probabilities) return exp(target) * (target - input);
  const Tensor logs = log(masked_fill(target, le(target, 0.0), 1));  // 0 log 0 is 0
  return target * (logs - input);
}

WeightedSum elements(const Tensor& losses) {
  const auto count = static_cast<double>(losses.numel());
  return {sum(losses), scalar(count, {.dtype = losses.dtype(), .device = losses.device()})};
}

}  // namespace

Tensor reduce_loss(const Tensor& losses, Reduction reduction) {
  switch (reduction) {
    case Reduction::none:
      return losses;
    case Reduction::sum:
      return sum(losses);
    case Reduction::mean:
      return mean(losses);
    case Reduction::batch_mean:
      TANDEM_CHECK(losses.ndim() > 0, "loss: batch_mean needs a batch, got a scalar");
      return sum(losses) / static_cast<double>(losses.size(0));
  }
  return {};
}

Tensor mse_loss(const Tensor& a, const Tensor& b, Reduction reduction) {
  return reduce_loss(squared_errors(a, b), reduction);
}
WeightedSum mse_loss_sum(const Tensor& a, const Tensor& b) {
  return elements(squared_errors(a, b));
}

Tensor l1_loss(const Tensor& a, const Tensor& b, Reduction reduction) {
  return reduce_loss(absolute_errors(a, b), reduction);
}
WeightedSum l1_loss_sum(const Tensor& a, const Tensor& b) {
  return elements(absolute_errors(a, b));
}

Tensor smooth_l1_loss(const Tensor& a, const Tensor& b, Reduction reduction, double beta) {
  return reduce_loss(smooth_errors(a, b, beta), reduction);
}
WeightedSum smooth_l1_loss_sum(const Tensor& a, const Tensor& b, double beta) {
  return elements(smooth_errors(a, b, beta));
}

Tensor huber_loss(const Tensor& a, const Tensor& b, Reduction reduction, double delta) {
  return reduce_loss(huber_errors(a, b, delta), reduction);
}
WeightedSum huber_loss_sum(const Tensor& a, const Tensor& b, double delta) {
  return elements(huber_errors(a, b, delta));
}

Tensor bce_with_logits(const Tensor& logits,
                       const Tensor& target,
                       Reduction reduction,
                       const BceOptions& options) {
  return reduce_loss(binary_entropies(logits, target, options), reduction);
}
WeightedSum bce_with_logits_sum(const Tensor& logits,
                                const Tensor& target,
                                const BceOptions& options) {
  return elements(binary_entropies(logits, target, options));
}

Tensor kl_div(const Tensor& input, const Tensor& target, Reduction reduction, KlTarget form) {
  return reduce_loss(divergences(input, target, form), reduction);
}
WeightedSum kl_div_sum(const Tensor& input,
                       const Tensor& target,
                       Reduction reduction,
                       KlTarget form) {
  WeightedSum all = elements(divergences(input, target, form));
  if (reduction == Reduction::batch_mean && input.ndim() > 0) {
    all.weight = scalar(static_cast<double>(input.size(0)),
                        {.dtype = all.sum.dtype(), .device = all.sum.device()});
  }
  return all;
}

}  // namespace tandem
