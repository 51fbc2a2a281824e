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
#include "ops/check_index.hpp"
#include "ops/output.hpp"
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

Targets targets_of(const Tensor& logits, const Tensor& labels, const CrossEntropyOptions& options) {
  const char* op = "cross_entropy";
  TANDEM_CHECK(is_float(logits.dtype()), op, ": needs float logits, got ", logits.describe());
  TANDEM_CHECK(!is_float(labels.dtype()) && labels.dtype() != DType::boolean,
               op,
               ": labels are integers, got ",
               labels.describe());
  TANDEM_CHECK(logits.ndim() >= 2, op, ": needs logits (N, C, ...), got ", logits.describe());
  Shape expected = logits.shape();
  expected.erase(1);
  TANDEM_CHECK(labels.shape() == expected,
               op,
               ": labels for logits ",
               logits.shape(),
               " have the shape ",
               expected,
               ", got ",
               labels.shape());
  const std::int64_t classes = logits.shape()[1];
  const Tensor& weight = options.class_weight;
  TANDEM_CHECK(!weight.defined() || weight.shape() == Shape{classes},
               op,
               ": class_weight has the shape ",
               weight.defined() ? weight.shape() : Shape{},
               ", expected ",
               Shape{classes});
  const autograd::NoGrad off;
  Targets targets{labels.to(DType::i64),
                  weight.defined() ? weight.to(logits.dtype()) : Tensor(),
                  options.ignore_index};
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

LossPerLabel loss_per_label(const Tensor& logits,
                            const Tensor& labels,
                            const CrossEntropyOptions& options) {
  const Targets targets = targets_of(logits, labels, options);
  const TensorOptions like{.dtype = logits.dtype(), .device = logits.device()};
  const Tensor losses = empty(labels.shape(), like), weights = empty(labels.shape(), like);
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

Tensor squared_error(const Tensor& a, const Tensor& b) {
  TANDEM_CHECK(
      a.shape() == b.shape(), "mse_loss: the shapes ", a.shape(), " and ", b.shape(), " differ");
  return square(as_float(a - b));
}

}  // namespace

Tensor cross_entropy(const Tensor& logits,
                     const Tensor& labels,
                     Reduction reduction,
                     const CrossEntropyOptions& options) {
  const auto [losses, weights] = loss_per_label(logits, labels, options);
  switch (reduction) {
    case Reduction::none:
      return losses;
    case Reduction::sum:
      return sum(losses);
    case Reduction::mean:
      return sum(losses) / sum(weights);
  }
  return {};
}

WeightedSum cross_entropy_sum(const Tensor& logits,
                              const Tensor& labels,
                              const CrossEntropyOptions& options) {
  const auto [losses, weights] = loss_per_label(logits, labels, options);
  return {sum(losses), sum(weights)};
}

Tensor mse_loss(const Tensor& a, const Tensor& b, Reduction reduction) {
  const Tensor errors = squared_error(a, b);
  switch (reduction) {
    case Reduction::none:
      return errors;
    case Reduction::sum:
      return sum(errors);
    case Reduction::mean:
      return mean(errors);
  }
  return {};
}

WeightedSum mse_loss_sum(const Tensor& a, const Tensor& b) {
  const Tensor errors = squared_error(a, b);
  const auto count = static_cast<double>(errors.numel());
  return {sum(errors), scalar(count, {.dtype = errors.dtype(), .device = errors.device()})};
}

}  // namespace tandem
