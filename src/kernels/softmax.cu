// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cuda/lines.hpp"
#include "kernels/softmax.hpp"
#include "kernels/softmax.inl"

// The gradient of a line of classes needs its normaliser again, which costs less than to have kept
// it.
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
    TANDEM_HD T load(std::int64_t i) const { return line[i]; }
    template <int kCount>
    TANDEM_HD void add(const T (&values)[kCount]) {
      sum.add(values);
    }
    TANDEM_HD Total total() const { return sum.normaliser(); }
  };
  TANDEM_HD Run run(std::int64_t output) const { return {scores.line(output), {}}; }
  TANDEM_HD Total join(const Total& a, const Total& b) const { return Total::join(a, b); }
};

/// What the elements of a line are centred by and scaled with.
template <class T>
struct Scaling {
  T most, share, log;
  explicit TANDEM_HD Scaling(const Normaliser<T>& norm)
      : most(norm.most), share(static_cast<T>(1 / norm.total)), log(norm.log()) {}
};

/// The normaliser of a line, and then its elements normalised.
template <class T>
struct SoftmaxLines : JoinNormalisers<T, 1> {
  using Line = Scaling<T>;
  SoftmaxForm form;
  std::int64_t y_step;
  T* y;

  TANDEM_HD Line finish(std::int64_t, const Normaliser<T>& norm) const { return Line(norm); }

  struct Each {
    SoftmaxForm form;
    Line by;
    kernels::Line<const T> x;
    kernels::Line<T> y;
    TANDEM_HD T load(std::int64_t i) const { return x[i]; }
    TANDEM_HD void put(std::int64_t i, T value) const {
      const T centred = value - by.most;
      y[i] = form == SoftmaxForm::softmax ? std::exp(centred) * by.share : centred - by.log;
    }
  };
  TANDEM_HD Each each(std::int64_t line, const Line& by) const {
    const Place<2> place = this->scores.lines(line);
    return {form, by, {this->scores.x + place.at[1], this->scores.step}, {y + place.at[0], y_step}};
  }
};

/// Per line the sum that its gradient needs, of dy y or of dy, and then the gradient.
template <class T>
struct SoftmaxGradLines {
  using Total = double;
  using Line = T;
  Places<3> lines;  // dx, dy, y
  SoftmaxForm form;
  std::int64_t dx_step, dy_step, y_step;
  T* dx;
  const T* dy;
  const T* y;

  struct Value {
    T dy, y;
  };
  struct Run {
    SoftmaxForm form;
    kernels::Line<const T> dy, y;
    T sum;
    TANDEM_HD Value load(std::int64_t i) const { return {dy[i], y[i]}; }
    template <int kCount>
    TANDEM_HD void add(const Value (&values)[kCount]) {
      for (const Value& v : values)
        sum += form == SoftmaxForm::softmax ? v.dy * v.y : v.dy;
    }
    TANDEM_HD Total total() const { return static_cast<Total>(sum); }
  };
  TANDEM_HD Run run(std::int64_t line) const {
    const Place<3> place = lines(line);
    return {form, {dy + place.at[1], dy_step}, {y + place.at[2], y_step}, T(0)};
  }
  TANDEM_HD Total join(Total a, Total b) const { return a + b; }
  TANDEM_HD Line finish(std::int64_t, Total sum) const { return static_cast<T>(sum); }

  struct Each {
    SoftmaxForm form;
    T sum;
    kernels::Line<const T> dy, y;
    kernels::Line<T> dx;
    TANDEM_HD Value load(std::int64_t i) const { return {dy[i], y[i]}; }
    TANDEM_HD void put(std::int64_t i, const Value& v) const {
      dx[i] = form == SoftmaxForm::softmax ? v.y * (v.dy - sum) : v.dy - std::exp(v.y) * sum;
    }
  };
  TANDEM_HD Each each(std::int64_t line, T sum) const {
    const Place<3> place = lines(line);
    return {form,
            sum,
            {dy + place.at[1], dy_step},
            {y + place.at[2], y_step},
            {dx + place.at[0], dx_step}};
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

/// The gradient of each line; operands dlogits, dlosses, scores, labels.
template <class T>
struct CrossEntropyGrad : JoinNormalisers<T, 2> {
  struct Line {
    T most, share, scale;
    std::int64_t label;  // below 0: ignored
  };
  Places<4> places;
  LabelAt<T> labels;
  std::int64_t dx_step;
  const T* dlosses;
  T* dx;

  TANDEM_HD Line finish(std::int64_t line, const Normaliser<T>& norm) const {
    const Place<4> place = places(line);
    const std::int64_t label = labels.index[place.at[3]];
    return {norm.most,
            static_cast<T>(1 / norm.total),
            dlosses[place.at[1]] * labels.weight(label),
            label == labels.ignored ? -1 : label};
  }

  struct Each {
    Line of;
    kernels::Line<const T> x;
    kernels::Line<T> dx;
    TANDEM_HD T load(std::int64_t i) const { return x[i]; }
    TANDEM_HD void put(std::int64_t i, T value) const {
      const T p = std::exp(value - of.most) * of.share;
      dx[i] = of.label < 0 ? T(0) : of.scale * p - (i == of.label ? of.scale : T(0));
    }
  };
  TANDEM_HD Each each(std::int64_t line, const Line& of) const {
    const Place<4> place = places(line);
    return {of, {this->scores.x + place.at[2], this->scores.step}, {dx + place.at[0], dx_step}};
  }
};

}  // namespace

void softmax(const CudaStream& s, SoftmaxForm form, int dim, const View& x, const View& y) {
  const std::int64_t n = x.shape[dim];
  if (x.numel() == 0) return;
  const View vy = without_dim(y, dim), vx = without_dim(x, dim);
  const KernelPlan lines = make_kernel_plan({&vy, &vx});
  with_float(y.dtype, [&]<class T>() {
    const Scores<T, 1> scores{Places<2>(lines), x.strides[dim], x.as<const T>()};
    reduce_and_put(
        s, lines.numel, n, scores.step, SoftmaxLines<T>{{scores}, form, y.strides[dim], y.as<T>()});
  });
}

void softmax_grad(
    const CudaStream& s, SoftmaxForm form, int dim, const View& dy, const View& y, const View& dx) {
  const std::int64_t n = y.shape[dim];
  if (y.numel() == 0) return;
  const View vdx = without_dim(dx, dim), vdy = without_dim(dy, dim), vy = without_dim(y, dim);
  const KernelPlan lines = make_kernel_plan({&vdx, &vdy, &vy});
  with_float(y.dtype, [&]<class T>() {
    reduce_and_put(s,
                   lines.numel,
                   n,
                   y.strides[dim],
                   SoftmaxGradLines<T>{Places<3>(lines),
                                       form,
                                       dx.strides[dim],
                                       dy.strides[dim],
                                       y.strides[dim],
                                       dx.as<T>(),
                                       dy.as<const T>(),
                                       y.as<const T>()});
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
    const Scores<T, 2> scores{Places<3>(lines), logits.strides[1], logits.as<const T>()};
    reduce_and_put(s,
                   lines.numel,
                   n,
                   scores.step,
                   CrossEntropyGrad<T>{{scores},
                                       Places<4>(lines),
                                       LabelAt<T>(labels),
                                       dlogits.strides[1],
                                       dlosses.as<const T>(),
                                       dlogits.as<T>()});
  });
}

}  // namespace tandem::kernels
