// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Functors of softmax and cross entropy, for both backends: one call per row of classes.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/for_each.hpp"
#include "kernels/softmax.hpp"

namespace tandem::kernels {

/// Elements along one dimension.
template <class T>
struct Line {
  T* data;
  std::int64_t stride;
  TANDEM_HD T& operator[](std::int64_t i) const { return data[i * stride]; }
};

/// What turns scores into probabilities: exp(x - most) / total.
template <class T>
struct Normaliser {
  T most;
  double total;
  TANDEM_HD T log() const { return static_cast<T>(std::log(total)); }

  TANDEM_HD static Normaliser of(Line<const T> x, std::int64_t n) {
    T most = x[0];
    for (std::int64_t i = 1; i < n; ++i)
      most = x[i] > most ? x[i] : most;
    double total = 0;
    for (std::int64_t i = 0; i < n; ++i)
      total += std::exp(x[i] - most);
    return {most, total};
  }
  /// Joins two parts of a line; an empty part has total 0.
  TANDEM_HD static Normaliser join(const Normaliser& a, const Normaliser& b) {
    if (a.total == 0) return b;
    if (b.total == 0) return a;
    const T most = a.most > b.most || a.most != a.most ? a.most : b.most;
    return {most,
            a.total * static_cast<double>(share(a.most, most)) +
                b.total * static_cast<double>(share(b.most, most))};
  }
  /// What an element counts beside the largest. Equal ones may both be infinite.
  TANDEM_HD static T share(T x, T most) { return x == most ? T(1) : std::exp(x - most); }
};

/// A normaliser that is made of some elements at a time. Minus infinity counts as nothing.
template <class T>
class NormaliserRun {
 public:
  template <int kCount>
  TANDEM_HD void add(const T (&x)[kCount]) {
    T most = most_, sum = T(0);
    for (const T& value : x)
      most = value > most || value != value ? value : most;
    if (most == -std::numeric_limits<T>::infinity()) return;
    for (const T& value : x)
      sum += Normaliser<T>::share(value, most);
    total_ = total_ * Normaliser<T>::share(most_, most) + sum;
    most_ = most;
  }
  TANDEM_HD Normaliser<T> normaliser() const { return {most_, static_cast<double>(total_)}; }

 private:
  T most_ = -std::numeric_limits<T>::infinity();
  T total_ = T(0);
};

template <class T>
TANDEM_HD void softmax_line(std::int64_t n, Line<const T> x, Line<T> y) {
  const auto norm = Normaliser<T>::of(x, n);
  const T share = static_cast<T>(1 / norm.total);
  for (std::int64_t i = 0; i < n; ++i)
    y[i] = std::exp(x[i] - norm.most) * share;
}

template <class T>
TANDEM_HD void log_softmax_line(std::int64_t n, Line<const T> x, Line<T> y) {
  const auto norm = Normaliser<T>::of(x, n);
  const T log = norm.log();
  for (std::int64_t i = 0; i < n; ++i)
    y[i] = (x[i] - norm.most) - log;
}

template <class T>
TANDEM_HD void softmax_grad_line(std::int64_t n, Line<const T> dy, Line<const T> y, Line<T> dx) {
  double total = 0;
  for (std::int64_t i = 0; i < n; ++i)
    total += dy[i] * y[i];
  const T sum = static_cast<T>(total);
  for (std::int64_t i = 0; i < n; ++i)
    dx[i] = y[i] * (dy[i] - sum);
}

template <class T>
TANDEM_HD void log_softmax_grad_line(std::int64_t n,
                                     Line<const T> dy,
                                     Line<const T> y,
                                     Line<T> dx) {
  double total = 0;
  for (std::int64_t i = 0; i < n; ++i)
    total += dy[i];
  const T sum = static_cast<T>(total);
  for (std::int64_t i = 0; i < n; ++i)
    dx[i] = dy[i] - std::exp(y[i]) * sum;
}

/// Labels as a kernel reads them.
template <class T>
struct LabelAt {
  const std::int64_t* index;
  const T* class_weight;  // null: 1 for all
  std::int64_t weight_step;
  std::int64_t ignored;

  explicit LabelAt(const Labels& labels)
      : index(labels.index.as<const std::int64_t>()),
        class_weight(labels.class_weight.as<const T>()),
        weight_step(class_weight == nullptr ? 0 : labels.class_weight.strides[0]),
        ignored(labels.ignored) {}
  /// Zero where the label is ignored.
  TANDEM_HD T weight(std::int64_t label) const {
    if (label == ignored) return T(0);
    return class_weight == nullptr ? T(1) : class_weight[label * weight_step];
  }
};

}  // namespace tandem::kernels
