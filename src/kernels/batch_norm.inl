// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Functors of batch norm, for both backends.
#pragma once

#include "kernels/batch_norm.hpp"
#include "kernels/for_each.hpp"

namespace tandem::kernels {

/// Moments of one channel.
struct Moments {
  double count = 0;
  double mean = 0;
  double squares = 0;  ///< sum of (x - mean)^2

  /// Chan, Golub and LeVeque: as exact as two passes over all.
  TANDEM_HD void join(double other_count, double other_mean, double other_squares) {
    if (other_count == 0) return;
    // Parts of equal size, which most are on a GPU, need no division there.
    const double share = count == other_count ? 0.5 : other_count / (count + other_count);
    const double delta = other_mean - mean;
    mean += delta * share;
    squares += other_squares + delta * (delta * (count * share));
    count += other_count;
  }
  TANDEM_HD static Moments joined(Moments a, const Moments& b) {
    a.join(b.count, b.mean, b.squares);
    return a;
  }
};

/// Moments of a few elements, some at a time, in their type (Welford, 1962; Chan, Golub and
/// LeVeque). They are taken about the first one, so that they are exact far from zero too.
template <class T>
class MomentsRun {
 public:
  template <int kCount>
  TANDEM_HD void add(const T (&x)[kCount]) {
    if (count_ == T(0)) first_ = x[0];
    T sum = T(0), squares = T(0);
    for (const T& value : x)
      sum += value - first_;
    const T mean = sum / T(kCount);
    for (const T& value : x) {
      const T d = (value - first_) - mean;
      squares += d * d;
    }
    const T before = count_, delta = mean - mean_;
    count_ += T(kCount);
    const T share = T(kCount) / count_;
    mean_ += delta * share;
    squares_ += squares + delta * (delta * (before * share));
  }
  TANDEM_HD Moments moments() const {
    return {static_cast<double>(count_),
            static_cast<double>(first_) + static_cast<double>(mean_),
            static_cast<double>(squares_)};
  }

 private:
  T first_ = T(0), count_ = T(0), mean_ = T(0), squares_ = T(0);
};

/// `value` where `after` lets the normalised `y` through, else zero.
template <class T, After kAfter>
TANDEM_HD T pass(T y, T value) {
  if constexpr (kAfter == After::relu)
    return y <= T(0) ? T(0) : value;  // NaN goes through, as in relu
  else
    return value;
}

/// Whether the statistics came from the batch, so that dx depends on all of it.
enum class From { batch, constants };

/// dx of one element, by the coefficients of its channel.
template <class T, After kAfter, From kFrom>
TANDEM_HD T gradient_of(T dy, T centred, T scale, T bias, T slope, T offset) {
  const T g = pass<T, kAfter>(centred * scale + bias, dy) * scale;
  if constexpr (kFrom == From::batch)
    return g + centred * slope + offset;
  else
    return g;
}

TANDEM_HD inline double count_of(const BatchCount& count) {
  return count.device == nullptr ? count.host : *count.device;
}

/// Calls f.template operator()<T, After>() for the dtype and what follows.
template <class F>
void with_after(DType t, After after, F f) {
  with_float(t, [&]<class T>() {
    if (after == After::relu)
      f.template operator()<T, After::relu>();
    else
      f.template operator()<T, After::nothing>();
  });
}

}  // namespace tandem::kernels
