// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cuda/map.hpp"
#include "kernels/softmax.hpp"
#include "kernels/softmax.inl"
#include "kernels/workspace.hpp"

// A line of classes is reduced by several threads where it is long; its gradients need the line's
// normaliser again, which costs less than to have kept it.
namespace tandem::kernels {
namespace {

/// Lines of scores beside up to three other operands; the scores are operand `kScores` of `lines`.
template <class T, int kScores>
struct Scores {
  KernelPlan lines;
  std::int64_t step;  // between classes
  const T* x;

  TANDEM_HD Line<const T> line(std::int64_t output) const {
    return {x + detail::Place<kScores + 1>(lines, output).at[kScores], step};
  }
};

/// Normalisers of parts of a line join; a part of nothing has total 0.
template <class T, int kScores>
struct JoinNormalisers {
  using Total = Normaliser<T>;
  Scores<T, kScores> scores;

  TANDEM_HD Total total() const { return {T(0), 0}; }
  TANDEM_HD Total at(std::int64_t output, std::int64_t i) const {
    return {scores.line(output)[i], 1};
  }
  TANDEM_HD Total join(Total a, Total b) const {
    if (a.total == 0) return b;
    if (b.total == 0) return a;
    const T most = a.most > b.most || a.most != a.most ? a.most : b.most;
    return {most, a.total * share(a.most, most) + b.total * share(b.most, most)};
  }

 private:
  // Equal ones may both be infinite.
  TANDEM_HD static double share(T part, T most) {
    return part == most ? 1.0 : static_cast<double>(std::exp(part - most));
  }
};

template <class T, int kScores>
struct StoreNormaliser : JoinNormalisers<T, kScores> {
  Normaliser<T>* norms;
  TANDEM_HD void store(std::int64_t output, Normaliser<T> norm) const { norms[output] = norm; }
};

template <class T>
struct Normalise {
  KernelPlan lines;  // y, x
  SoftmaxForm form;
  std::int64_t n, y_step, x_step;
  const Normaliser<T>* norms;
  const T* x;
  T* y;

  TANDEM_HD void operator()(std::int64_t i) const {
    const std::int64_t line = i / n, k = i % n;
    const detail::Place<2> place(lines, line);
    const Normaliser<T> norm = norms[line];
    const T centred = x[place.at[1] + k * x_step] - norm.most;
    y[place.at[0] + k * y_step] = form == SoftmaxForm::softmax
                                      ? std::exp(centred) * static_cast<T>(1 / norm.total)
                                      : centred - norm.log();
  }
};

/// Per line the sum that its gradient needs: of dy y, or of dy.
template <class T>
struct SumLine {
  using Total = double;
  KernelPlan lines;  // dx, dy, y
  SoftmaxForm form;
  std::int64_t dy_step, y_step;
  const T* dy;
  const T* y;
  double* sums;

  TANDEM_HD Total total() const { return 0; }
  TANDEM_HD Total at(std::int64_t output, std::int64_t i) const {
    const detail::Place<3> place(lines, output);
    const T d = dy[place.at[1] + i * dy_step];
    return static_cast<double>(form == SoftmaxForm::softmax ? d * y[place.at[2] + i * y_step] : d);
  }
  TANDEM_HD Total join(Total a, Total b) const { return a + b; }
  TANDEM_HD void store(std::int64_t output, Total sum) const { sums[output] = sum; }
};

template <class T>
struct SoftmaxGrad {
  SumLine<T> line;
  std::int64_t n, dx_step;
  T* dx;

  TANDEM_HD void operator()(std::int64_t i) const {
    const std::int64_t output = i / n, k = i % n;
    const detail::Place<3> place(line.lines, output);
    const T d = line.dy[place.at[1] + k * line.dy_step];
    const T v = line.y[place.at[2] + k * line.y_step];
    const T sum = static_cast<T>(line.sums[output]);
    dx[place.at[0] + k * dx_step] =
        line.form == SoftmaxForm::softmax ? v * (d - sum) : d - std::exp(v) * sum;
  }
};

/// Loss and weight of each line; operands losses, weights, scores, labels.
template <class T>
struct CrossEntropy : JoinNormalisers<T, 2> {
  LabelAt<T> labels;
  T* losses;
  T* weights;

  TANDEM_HD void store(std::int64_t output, Normaliser<T> norm) const {
    const detail::Place<4> place(this->scores.lines, output);
    const std::int64_t label = labels.index[place.at[3]];
    const T weight = labels.weight(label);
    const bool counts = label != labels.ignored;
    weights[place.at[1]] = weight;
    losses[place.at[0]] =
        counts ? weight * (norm.log() - (this->scores.line(output)[label] - norm.most)) : T(0);
  }
};

/// Operands dlogits, dlosses, scores, labels.
template <class T>
struct CrossEntropyGrad {
  Scores<T, 2> scores;
  LabelAt<T> labels;
  std::int64_t n, dx_step;
  const Normaliser<T>* norms;
  const T* dlosses;
  T* dx;

  TANDEM_HD void operator()(std::int64_t i) const {
    const std::int64_t output = i / n, k = i % n;
    const detail::Place<4> place(scores.lines, output);
    const std::int64_t label = labels.index[place.at[3]];
    T& to = dx[place.at[0] + k * dx_step];
    if (label == labels.ignored) {
      to = T(0);
      return;
    }
    const T scale = dlosses[place.at[1]] * labels.weight(label);
    const Normaliser<T> norm = norms[output];
    const T p = std::exp(x_of(place, k) - norm.most) * static_cast<T>(1 / norm.total);
    to = scale * p - (k == label ? scale : T(0));
  }

 private:
  TANDEM_HD T x_of(const detail::Place<4>& place, std::int64_t k) const {
    return scores.x[place.at[2] + k * scores.step];
  }
};

}  // namespace

void softmax(const CudaStream& s, SoftmaxForm form, int dim, const View& x, const View& y) {
  const std::int64_t n = x.shape[dim];
  if (x.numel() == 0) return;
  const View vy = without_dim(y, dim), vx = without_dim(x, dim);
  const KernelPlan lines = make_kernel_plan({&vy, &vx});
  with_float(y.dtype, [&]<class T>() {
    const Workspace<Normaliser<T>> norms(s.device, lines.numel);
    const Scores<T, 1> scores{lines, x.strides[dim], x.as<const T>()};
    reduce_each(s, lines.numel, n, Walk::along, StoreNormaliser<T, 1>{{scores}, norms.data()});
    for_each(s,
             lines.numel * n,
             Normalise<T>{lines,
                          form,
                          n,
                          y.strides[dim],
                          x.strides[dim],
                          norms.data(),
                          x.as<const T>(),
                          y.as<T>()});
  });
}

void softmax_grad(
    const CudaStream& s, SoftmaxForm form, int dim, const View& dy, const View& y, const View& dx) {
  const std::int64_t n = y.shape[dim];
  if (y.numel() == 0) return;
  const View vdx = without_dim(dx, dim), vdy = without_dim(dy, dim), vy = without_dim(y, dim);
  const KernelPlan lines = make_kernel_plan({&vdx, &vdy, &vy});
  with_float(y.dtype, [&]<class T>() {
    const Workspace<double> sums(s.device, lines.numel);
    const SumLine<T> line{lines,
                          form,
                          dy.strides[dim],
                          y.strides[dim],
                          dy.as<const T>(),
                          y.as<const T>(),
                          sums.data()};
    reduce_each(s, lines.numel, n, Walk::along, line);
    for_each(s, lines.numel * n, SoftmaxGrad<T>{line, n, dx.strides[dim], dx.as<T>()});
  });
}

void cross_entropy(const CudaStream& s,
                   const View& logits,
                   const Labels& labels,
                   const View& losses,
                   const View& weights) {
  const View scores = without_dim(logits, 1);
  if (losses.numel() == 0) return;
  const KernelPlan lines = make_kernel_plan({&losses, &weights, &scores, &labels.index});
  with_float(logits.dtype, [&]<class T>() {
    reduce_each(s,
                lines.numel,
                logits.shape[1],
                Walk::along,
                CrossEntropy<T>{{{lines, logits.strides[1], logits.as<const T>()}},
                                LabelAt<T>(labels),
                                losses.as<T>(),
                                weights.as<T>()});
  });
}

void cross_entropy_grad(const CudaStream& s,
                        const View& dlosses,
                        const View& logits,
                        const Labels& labels,
                        const View& dlogits) {
  const View target = without_dim(dlogits, 1), start = without_dim(logits, 1);
  const std::int64_t n = logits.shape[1];
  if (logits.numel() == 0) return;
  const KernelPlan lines = make_kernel_plan({&target, &dlosses, &start, &labels.index});
  with_float(logits.dtype, [&]<class T>() {
    const Workspace<Normaliser<T>> norms(s.device, lines.numel);
    const Scores<T, 2> scores{lines, logits.strides[1], logits.as<const T>()};
    reduce_each(s, lines.numel, n, Walk::along, StoreNormaliser<T, 2>{{scores}, norms.data()});
    for_each(s,
             lines.numel * n,
             CrossEntropyGrad<T>{scores,
                                 LabelAt<T>(labels),
                                 n,
                                 dlogits.strides[1],
                                 norms.data(),
                                 dlosses.as<const T>(),
                                 dlogits.as<T>()});
  });
}

}  // namespace tandem::kernels
