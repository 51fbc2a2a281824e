// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/softmax.hpp"

#include "kernels/elementwise.hpp"
#include "kernels/softmax.inl"

namespace tandem::kernels {
namespace {

constexpr std::int64_t kElementCost = 8;  // an exponential, in elements of a sum

// Calls f(offsets) for each line; the first operand's memory order.
template <class F>
void for_each_line(const HostStream& s,
                   std::int64_t length,
                   std::initializer_list<const View*> operands,
                   const F& f) {
  const Plan plan = make_plan(operands);
  if (plan.numel == 0) return;
  const Plan lines = select_dims(plan, (1U << plan.ndim) - 1);
  const std::int64_t grain =
      std::max<std::int64_t>(1, kGrain / kElementCost / std::max<std::int64_t>(1, length));
  for_each_range(s, plan.numel, grain, [&](std::int64_t begin, std::int64_t end) {
    Cursor at(lines, begin);
    for (std::int64_t i = begin; i < end; ++i, at.next())
      f(at);
  });
}

}  // namespace

void softmax(const HostStream& s, SoftmaxForm form, int dim, const View& x, const View& y) {
  const std::int64_t n = x.shape[dim];
  if (n == 0) return;
  const View vy = without_dim(y, dim), vx = without_dim(x, dim);
  with_float(y.dtype, [&]<class T>() {
    for_each_line(s, n, {&vy, &vx}, [&](const Cursor& at) {
      const Line<const T> from{x.as<const T>() + at.offset(1), x.strides[dim]};
      const Line<T> to{y.as<T>() + at.offset(0), y.strides[dim]};
      if (form == SoftmaxForm::softmax)
        softmax_line<T>(n, from, to);
      else
        log_softmax_line<T>(n, from, to);
    });
  });
}

void softmax_grad(
    const HostStream& s, SoftmaxForm form, int dim, const View& dy, const View& y, const View& dx) {
  const View vdx = without_dim(dx, dim), vdy = without_dim(dy, dim), vy = without_dim(y, dim);
  const std::int64_t n = y.shape[dim];
  with_float(y.dtype, [&]<class T>() {
    for_each_line(s, n, {&vdx, &vdy, &vy}, [&](const Cursor& at) {
      const Line<T> to{dx.as<T>() + at.offset(0), dx.strides[dim]};
      const Line<const T> grad{dy.as<const T>() + at.offset(1), dy.strides[dim]};
      const Line<const T> out{y.as<const T>() + at.offset(2), y.strides[dim]};
      if (form == SoftmaxForm::softmax)
        softmax_grad_line<T>(n, grad, out, to);
      else
        log_softmax_grad_line<T>(n, grad, out, to);
    });
  });
}

void cross_entropy(const HostStream& s,
                   const View& logits,
                   const Labels& labels,
                   const View& losses,
                   const View& weights) {
  const View scores = without_dim(logits, 1);
  const std::int64_t n = logits.shape[1];
  with_float(logits.dtype, [&]<class T>() {
    const LabelAt<T> reader(labels);
    for_each_line(s, n, {&losses, &weights, &scores, &labels.index}, [&](const Cursor& at) {
      const std::int64_t label = reader.index[at.offset(3)];
      T weight = T(0), loss = T(0);
      if (label != labels.ignored) {
        weight = reader.weight(label);
        loss = weight * negative_log_likelihood<T>(
                            n, {logits.as<const T>() + at.offset(2), logits.strides[1]}, label);
      }
      losses.as<T>()[at.offset(0)] = loss;
      weights.as<T>()[at.offset(1)] = weight;
    });
  });
}

void cross_entropy_grad(const HostStream& s,
                        const View& dlosses,
                        const View& logits,
                        const Labels& labels,
                        const View& dlogits) {
  const View target = without_dim(dlogits, 1), scores = without_dim(logits, 1);
  const std::int64_t n = logits.shape[1];
  with_float(logits.dtype, [&]<class T>() {
    const LabelAt<T> reader(labels);
    for_each_line(s, n, {&target, &dlosses, &scores, &labels.index}, [&](const Cursor& at) {
      const Line<T> to{dlogits.as<T>() + at.offset(0), dlogits.strides[1]};
      const std::int64_t label = reader.index[at.offset(3)];
      if (label == labels.ignored) {
        for (std::int64_t i = 0; i < n; ++i)
          to[i] = T(0);
        return;
      }
      const T scale = dlosses.as<const T>()[at.offset(1)] * reader.weight(label);
      cross_entropy_grad_line<T>(
          n, {logits.as<const T>() + at.offset(2), logits.strides[1]}, label, scale, to);
    });
  });
}

}  // namespace tandem::kernels
