// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// One element of a step of LAMB, for both backends. The direction is made twice, from what the
// moments are after the step: once for its norm, once for the update.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/lamb.hpp"

namespace tandem::kernels {

template <class T>
struct Lamb {
  T lr, new1, beta2, new2, eps, weight_decay, inverse_bias1, inverse_root_bias2;
  T* param;
  const T* grad;
  T* m;
  T* v;

  TANDEM_HD void moments(std::int64_t i) const {
    const T g = grad[i];
    m[i] += new1 * (g - m[i]);
    v[i] = beta2 * v[i] + new2 * g * g;
  }
  TANDEM_HD T direction(std::int64_t i) const {
    return m[i] * inverse_bias1 / (std::sqrt(v[i]) * inverse_root_bias2 + eps) +
           weight_decay * param[i];
  }
  TANDEM_HD void update(std::int64_t i, T trust) const { param[i] -= lr * trust * direction(i); }
};

/// Sums of squares: of the parameter, and of the direction.
struct LambSquares {
  double param, direction;
  /// |parameter| / |direction|; 1 where either is zero.
  TANDEM_HD double trust() const {
    return param > 0 && direction > 0 ? std::sqrt(param) / std::sqrt(direction) : 1.0;
  }
};

template <class T>
Lamb<T> make_lamb(const LambNumbers& k, void* param, const void* grad, void* m, void* v) {
  return {T(k.lr),
          T(1 - k.beta1),
          T(k.beta2),
          T(1 - k.beta2),
          T(k.eps),
          T(k.weight_decay),
          T(1 / k.bias1),
          T(1 / k.root_bias2),
          static_cast<T*>(param),
          static_cast<const T*>(grad),
          static_cast<T*>(m),
          static_cast<T*>(v)};
}

}  // namespace tandem::kernels
