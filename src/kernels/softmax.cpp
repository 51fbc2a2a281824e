// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/softmax.hpp"

#include "kernels/exp.inl"
#include "kernels/lane_sum.hpp"
#include "kernels/map.hpp"
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
  const KernelPlan plan = make_kernel_plan(operands);
  if (plan.numel == 0) return;
  const KernelPlan lines = select_dims(plan, (1U << plan.ndim) - 1);
  const std::int64_t grain =
      std::max<std::int64_t>(1, kGrain / kElementCost / std::max<std::int64_t>(1, length));
  for_each_range(s, plan.numel, grain, [&](std::int64_t begin, std::int64_t end) {
    Cursor at(lines, begin);
    for (std::int64_t i = begin; i < end; ++i, at.next())
      f(at);
  });
}

/// Scores of one row. Those of dense rows are summed as vectors: by f32 in runs, and these in f64.
template <class T>
struct Scores {
  static constexpr std::int64_t kRun = 1024;
  std::int64_t n;
  Line<const T> x;

  Normaliser<T> normaliser() const {
    if (x.stride != 1) return Normaliser<T>::of(x, n);
    const T most = lane_max(n, x.data);
    double total = 0;
    for (std::int64_t i = 0; i < n; i += kRun) {
      const T* const run = x.data + i;
      total += static_cast<double>(lane_sum<T>(std::min(kRun, n - i), [run, most](std::int64_t k) {
        return bounded_exp(run[k] - most);
      }));
    }
    return {most, total};
  }

  T negative_log_likelihood(std::int64_t label) const {
    const Normaliser<T> norm = normaliser();
    return norm.log() - (x[label] - norm.most);
  }

  void cross_entropy_grad(std::int64_t label, T scale, Line<T> dx) const {
    const Normaliser<T> norm = normaliser();
    const T share = static_cast<T>(1 / norm.total);
    if (x.stride == 1 && dx.stride == 1) {
      const T* const from = x.data;
      T* const to = dx.data;
#pragma GCC ivdep
      for (std::int64_t i = 0; i < n; ++i)
        to[i] = scale * (bounded_exp(from[i] - norm.most) * share);
    } else {
      for (std::int64_t i = 0; i < n; ++i)
        dx[i] = scale * (bounded_exp(x[i] - norm.most) * share);
    }
    dx[label] -= scale;
  }
};

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
        const Scores<T> row{n, {logits.as<const T>() + at.offset(2), logits.strides[1]}};
        loss = weight * row.negative_log_likelihood(label);
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
      const Scores<T> row{n, {logits.as<const T>() + at.offset(2), logits.strides[1]}};
      row.cross_entropy_grad(label, scale, to);
    });
  });
}

}  // namespace tandem::kernels
