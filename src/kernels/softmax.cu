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
  Places<kScores + 1> lines;
  std::int64_t step;  // between classes
  const T* x;

  TANDEM_HD Line<const T> line(std::int64_t output) const {
    return {x + lines(output).at[kScores], step};
  }
};

/// Normalisers of parts of a line join.
template <class T, int kScores>
struct JoinNormalisers {
  using Total = Normaliser<T>;
  Scores<T, kScores> scores;

  struct Run {
    Line<const T> line;
    NormaliserRun<T> sum;
    TANDEM_HD void add(std::int64_t i) { sum.add(line[i]); }
    TANDEM_HD Total total() const { return sum.normaliser(); }
  };
  TANDEM_HD Run run(std::int64_t output) const { return {scores.line(output), {}}; }
  TANDEM_HD Total join(const Total& a, const Total& b) const { return Total::join(a, b); }
};

/// What the elements of a line are centred by and scaled with.
template <class T>
struct Scaling {
  T most, share, log;
};

template <class T, int kScores>
struct StoreScaling : JoinNormalisers<T, kScores> {
  Scaling<T>* scalings;
  TANDEM_HD void store(std::int64_t output, const Normaliser<T>& norm) const {
    scalings[output] = {norm.most, static_cast<T>(1 / norm.total), norm.log()};
  }
};

template <class T>
struct Normalise {
  LineElements elements;
  Places<2> lines;  // y, x
  SoftmaxForm form;
  std::int64_t y_step, x_step;
  const Scaling<T>* scalings;
  const T* x;
  T* y;

  TANDEM_HD void operator()(std::int64_t i) const {
    const auto [line, k] = elements(i);
    const Place<2> place = lines(line);
    const Scaling<T> by = scalings[line];
    const T centred = x[place.at[1] + k * x_step] - by.most;
    y[place.at[0] + k * y_step] =
        form == SoftmaxForm::softmax ? std::exp(centred) * by.share : centred - by.log;
  }
};

/// Per line the sum that its gradient needs: of dy y, or of dy.
template <class T>
struct SumLine {
  using Total = double;
  Places<3> lines;  // dx, dy, y
  SoftmaxForm form;
  std::int64_t dy_step, y_step;
  const T* dy;
  const T* y;
  T* sums;

  struct Run {
    SoftmaxForm form;
    Line<const T> dy, y;
    T sum;
    TANDEM_HD void add(std::int64_t i) {
      sum += form == SoftmaxForm::softmax ? dy[i] * y[i] : dy[i];
    }
    TANDEM_HD Total total() const { return static_cast<Total>(sum); }
  };
  TANDEM_HD Run run(std::int64_t output) const {
    const Place<3> place = lines(output);
    return {form, {dy + place.at[1], dy_step}, {y + place.at[2], y_step}, T(0)};
  }
  TANDEM_HD Total join(Total a, Total b) const { return a + b; }
  TANDEM_HD void store(std::int64_t output, Total sum) const { sums[output] = static_cast<T>(sum); }
};

template <class T>
struct SoftmaxGrad {
  LineElements elements;
  SumLine<T> line;
  std::int64_t dx_step;
  T* dx;

  TANDEM_HD void operator()(std::int64_t i) const {
    const auto [output, k] = elements(i);
    const Place<3> place = line.lines(output);
    const T d = line.dy[place.at[1] + k * line.dy_step];
    const T v = line.y[place.at[2] + k * line.y_step];
    const T sum = line.sums[output];
    dx[place.at[0] + k * dx_step] =
        line.form == SoftmaxForm::softmax ? v * (d - sum) : d - std::exp(v) * sum;
  }
};

/// Loss and weight of each line; operands losses, weights, scores, labels.
template <class T>
struct CrossEntropy : JoinNormalisers<T, 2> {
  Places<4> places;
  LabelAt<T> labels;
  T* losses;
  T* weights;

  TANDEM_HD void store(std::int64_t output, const Normaliser<T>& norm) const {
    const Place<4> place = places(output);
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
  LineElements elements;
  Places<4> places;
  std::int64_t step;  // between classes
  LabelAt<T> labels;
  std::int64_t dx_step;
  const Scaling<T>* scalings;
  const T* dlosses;
  const T* x;
  T* dx;

  TANDEM_HD void operator()(std::int64_t i) const {
    const auto [output, k] = elements(i);
    const Place<4> place = places(output);
    const std::int64_t label = labels.index[place.at[3]];
    T& to = dx[place.at[0] + k * dx_step];
    if (label == labels.ignored) {
      to = T(0);
      return;
    }
    const T scale = dlosses[place.at[1]] * labels.weight(label);
    const Scaling<T> by = scalings[output];
    const T p = std::exp(x[place.at[2] + k * step] - by.most) * by.share;
    to = scale * p - (k == label ? scale : T(0));
  }
};

}  // namespace

void softmax(const CudaStream& s, SoftmaxForm form, int dim, const View& x, const View& y) {
  const std::int64_t n = x.shape[dim];
  if (x.numel() == 0) return;
  const View vy = without_dim(y, dim), vx = without_dim(x, dim);
  const KernelPlan lines = make_kernel_plan({&vy, &vx});
  with_float(y.dtype, [&]<class T>() {
    const Workspace<Scaling<T>> scalings(s.device, lines.numel);
    const Places<2> places(lines);
    const Scores<T, 1> scores{places, x.strides[dim], x.as<const T>()};
    reduce_each(
        s, lines.numel, n, walk_of(scores.step), StoreScaling<T, 1>{{scores}, scalings.data()});
    const LineElements elements(lines.numel, n, x.strides[dim]);
    for_each(s,
             elements.count(),
             Normalise<T>{elements,
                          places,
                          form,
                          y.strides[dim],
                          x.strides[dim],
                          scalings.data(),
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
    const Workspace<T> sums(s.device, lines.numel);
    const SumLine<T> line{Places<3>(lines),
                          form,
                          dy.strides[dim],
                          y.strides[dim],
                          dy.as<const T>(),
                          y.as<const T>(),
                          sums.data()};
    const LineElements elements(lines.numel, n, y.strides[dim]);
    reduce_each(s, lines.numel, n, walk_of(y.strides[dim]), line);
    for_each(s, elements.count(), SoftmaxGrad<T>{elements, line, dx.strides[dim], dx.as<T>()});
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
    const Scores<T, 2> of{Places<3>(lines), logits.strides[1], logits.as<const T>()};
    reduce_each(s,
                lines.numel,
                logits.shape[1],
                walk_of(of.step),
                CrossEntropy<T>{
                    {of}, Places<4>(lines), LabelAt<T>(labels), losses.as<T>(), weights.as<T>()});
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
    const Workspace<Scaling<T>> scalings(s.device, lines.numel);
    const Scores<T, 2> scores{Places<3>(lines), logits.strides[1], logits.as<const T>()};
    reduce_each(
        s, lines.numel, n, walk_of(scores.step), StoreScaling<T, 2>{{scores}, scalings.data()});
    const LineElements elements(lines.numel, n, logits.strides[1]);
    for_each(s,
             elements.count(),
             CrossEntropyGrad<T>{elements,
                                 Places<4>(lines),
                                 logits.strides[1],
                                 LabelAt<T>(labels),
                                 dlogits.strides[1],
                                 scalings.data(),
                                 dlosses.as<const T>(),
                                 logits.as<const T>(),
                                 dlogits.as<T>()});
  });
}

}  // namespace tandem::kernels
