// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/loss.hpp"

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/ops/activation.hpp"
#include "tandem/ops/elementwise.hpp"
#include "tandem/ops/index.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/tensor/access.hpp"
#include "tandem/tensor/factories.hpp"

#include "kernels/softmax.hpp"
#include "ops/autocast.hpp"
#include "ops/check_index.hpp"
#include "ops/output.hpp"
#include "ops/reduce_loss.hpp"
#include "ops/take.hpp"
#include "tensor/view_of.hpp"

namespace tandem {
namespace {

using autograd::Gradients;
using autograd::record;
using autograd::Saved;

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

Tensor reduced(const LossPerLabel& all, Reduction reduction) {
  if (reduction == Reduction::mean) return sum(all.losses) / sum(all.weights);
  return reduce_loss(all.losses, reduction);
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

}  // namespace tandem
