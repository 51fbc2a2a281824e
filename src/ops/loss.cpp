// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/loss.hpp"

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/ops/activation.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/compare.hpp"
#include "tandem/ops/index.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/ops/softmax.hpp"
#include "tandem/ops/unary.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/tensor/access.hpp"
#include "tandem/tensor/factories.hpp"

#include "kernels/softmax.hpp"
#include "ops/activation.hpp"
#include "ops/autocast.hpp"
#include "ops/index.hpp"
#include "ops/output.hpp"
#include "tensor/view_of.hpp"

namespace tandem {
namespace {

using autograd::Gradients;
using autograd::record;
using autograd::Saved;
using kernels::Activation;

/// Labels as the kernels take them, and what becomes of each.
struct Targets {
  Tensor index;         ///< i64
  Tensor class_weight;  ///< of the logits' dtype, or undefined
  std::int64_t ignored = 0;

  kernels::Labels view() const {
    return {
        view_of(index), class_weight.defined() ? view_of(class_weight) : kernels::View{}, ignored};
  }
};

Targets targets_of(const char* op,
                   const Tensor& logits,
                   const Tensor& labels,
                   const Tensor& weight,
                   std::int64_t ignored) {
  TANDEM_CHECK(is_float(logits.dtype()), op, ": needs float logits, got ", logits.describe());
  TANDEM_CHECK(!is_float(labels.dtype()) && labels.dtype() != DType::boolean,
               op,
               ": labels must be integers, got ",
               labels.describe());
  TANDEM_CHECK(logits.ndim() >= 2, op, ": needs logits (N, C, ...), got ", logits.describe());
  Shape expected = logits.shape();
  expected.erase(1);
  TANDEM_CHECK(labels.shape() == expected,
               op,
               ": labels for logits ",
               logits.shape(),
               " must have shape ",
               expected,
               ", got ",
               labels.shape());
  const std::int64_t classes = logits.shape()[1];
  TANDEM_CHECK(!weight.defined() || weight.shape() == Shape{classes},
               op,
               ": class_weight has shape ",
               weight.defined() ? weight.shape() : Shape{},
               ", expected ",
               Shape{classes});
  const autograd::NoGrad off;
  Targets targets{
      labels.to(DType::i64), weight.defined() ? weight.to(logits.dtype()) : Tensor(), ignored};
  check_index(op, "label", targets.index, classes, targets.ignored);
  return targets;
}

/// dy times what each label weighs, times softmax minus one hot: in differentiable ops.
Tensor logits_gradient(const Tensor& dy,
                       const Tensor& logits,
                       const Targets& targets,
                       const Tensor& weights) {
  const Tensor counts = ne(targets.index, static_cast<double>(targets.ignored));
  const Tensor scale = where(counts, dy * weights, 0.0).unsqueeze(1);
  const Tensor safe = where(counts, targets.index, 0.0).unsqueeze(1);
  const Tensor none = zeros(logits.shape(), {.dtype = logits.dtype(), .device = logits.device()});
  return softmax(logits, 1) * scale - scatter_add(none, 1, safe, scale);
}

Tensor fused_gradient(const Tensor& dy, const Tensor& logits, const Targets& targets) {
  const Tensor dlogits = make_output(logits.shape(), logits.dtype(), {logits});
  const auto flops = 6 * static_cast<double>(logits.numel());
  const Work work = make_work(Work::Kind::reduce,
                              "cross_entropy_grad",
                              {dy, logits, targets.index, targets.class_weight},
                              {dlogits},
                              flops);
  dispatch(logits.stream(), work, [&](auto& s) {
    kernels::cross_entropy_grad(s, view_of(dy), view_of(logits), targets.view(), view_of(dlogits));
  });
  return dlogits;
}

struct LossPerLabel {
  Tensor losses;   ///< weighted, on the tape
  Tensor weights;  ///< of each label, off the tape
};

LossPerLabel loss_per_label(const Tensor& logits, const Targets& targets) {
  const TensorOptions like{.dtype = logits.dtype(), .device = logits.device()};
  const Tensor losses = empty(targets.index.shape(), like),
               weights = empty(targets.index.shape(), like);
  const auto flops = 4 * static_cast<double>(logits.numel());
  const Work work = make_work(Work::Kind::reduce,
                              "cross_entropy",
                              {logits, targets.index, targets.class_weight},
                              {losses, weights},
                              flops);
  dispatch(logits.stream(), work, [&](auto& s) {
    kernels::cross_entropy(s, view_of(logits), targets.view(), view_of(losses), view_of(weights));
  });
  const Saved x(logits);
  record(
      "cross_entropy",
      losses,
      {logits},
      [x, targets, weights](const Tensor& dy) {
        return Gradients{logits_gradient(dy, x.get(), targets, weights)};
      },
      [x, targets](const Tensor& dy) { return Gradients{fused_gradient(dy, x.get(), targets)}; });
  return {losses, weights};
}

/// What each class gets of a target that is spread over all of them; zero where it is ignored.
Tensor spread_losses(const Tensor& logits, const Targets& targets) {
  Tensor logs = log_softmax(logits, 1);
  if (targets.class_weight.defined()) {
    Shape classes = Shape::filled(logits.ndim(), 1);
    classes[1] = logits.size(1);
    logs = logs * targets.class_weight.reshape(classes);
  }
  const Tensor ignored = eq(targets.index, static_cast<double>(targets.ignored));
  return masked_fill(-sum(logs, {1}), ignored, 0);
}

LossPerLabel smoothed_loss_per_label(const Tensor& scores,
                                     const Tensor& labels,
                                     const CrossEntropyOptions& options) {
  const Tensor logits = widened(scores);
  const double share = options.label_smoothing;
  TANDEM_CHECK(share >= 0 && share <= 1,
               "cross_entropy: label_smoothing is ",
               share,
               "; it must be in [0, 1]");
  const Targets targets =
      targets_of("cross_entropy", logits, labels, options.class_weight, options.ignore_index);
  LossPerLabel all = loss_per_label(logits, targets);
  if (share == 0) return all;
  const double each = share / static_cast<double>(logits.size(1));
  all.losses = all.losses * (1 - share) + spread_losses(logits, targets) * each;
  return all;
}

LossPerLabel picked_losses(const Tensor& input, const Tensor& labels, const NllOptions& options) {
  const Tensor logs = widened(input);
  const Targets targets =
      targets_of("nll_loss", logs, labels, options.class_weight, options.ignore_index);
  const Tensor ignored = eq(targets.index, static_cast<double>(targets.ignored));
  const Tensor index = masked_fill(targets.index, ignored, 0);
  const TensorOptions like{.dtype = logs.dtype(), .device = logs.device()};
  const Tensor of_class =
      targets.class_weight.defined()
          ? take(targets.class_weight, 0, index.flatten()).reshape(index.shape())
          : ones(index.shape(), like);
  const Tensor weights = masked_fill(of_class, ignored, 0);
  const Tensor picked = take(logs, 1, index.unsqueeze(1)).squeeze(1);
  return {masked_fill(-(picked * weights), ignored, 0), weights};
}

/// The losses as `reduction` asks for them; a mean is over the elements.
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

Tensor reduced(const LossPerLabel& all, Reduction reduction) {
  if (reduction == Reduction::mean) return sum(all.losses) / sum(all.weights);
  return reduce_loss(all.losses, reduction);
}

// Losses of two tensors of one shape, element by element.

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
  return run_activation(
      "smooth_l1_loss", Activation::smooth_l1, difference("smooth_l1_loss", a, b), beta, 1);
}

Tensor huber_errors(const Tensor& a, const Tensor& b, double delta) {
  TANDEM_CHECK(delta > 0, "huber_loss: delta is ", delta, "; it must be above 0");
  return run_activation(
      "huber_loss", Activation::smooth_l1, difference("huber_loss", a, b), delta, delta);
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

Tensor cross_entropy(const Tensor& logits,
                     const Tensor& labels,
                     Reduction reduction,
                     const CrossEntropyOptions& options) {
  return reduced(smoothed_loss_per_label(logits, labels, options), reduction);
}

WeightedSum cross_entropy_sum(const Tensor& logits,
                              const Tensor& labels,
                              const CrossEntropyOptions& options) {
  const auto [losses, weights] = smoothed_loss_per_label(logits, labels, options);
  return {sum(losses), sum(weights)};
}

Tensor nll_loss(const Tensor& log_probabilities,
                const Tensor& labels,
                Reduction reduction,
                const NllOptions& options) {
  return reduced(picked_losses(log_probabilities, labels, options), reduction);
}

WeightedSum nll_loss_sum(const Tensor& log_probabilities,
                         const Tensor& labels,
                         const NllOptions& options) {
  const auto [losses, weights] = picked_losses(log_probabilities, labels, options);
  return {sum(losses), sum(weights)};
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
