// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/adam.hpp"

// Written once for every backend: element i of an update.
namespace tandem::kernels {

/// The running means, and the gradient that they take in.
template <class T>
struct Means {
  T new1, beta2, new2, l2;  // new = 1 - beta
  const T* grad;
  T* m;
  T* v;

  struct Element {
    T grad, m, v;
  };
  /// Takes in the gradient of element i, whose parameter is p.
  TANDEM_HD Element take(std::int64_t i, T p) const {
    const T g = grad[i] + l2 * p;
    const Element now{g, m[i] + new1 * (g - m[i]), beta2 * v[i] + new2 * g * g};
    m[i] = now.m;
    v[i] = now.v;
    return now;
  }
};

template <class T>
struct Adam {
  T eps, decay, step_size, root_bias2;
  T* param;
  Means<T> means;
  TANDEM_HD void operator()(std::int64_t i) const {
    const T p = param[i];
    const auto now = means.take(i, p);
    param[i] = decay * p - step_size * now.m / (std::sqrt(now.v) / root_bias2 + eps);
  }
};

template <class T>
struct Nadam {
  T eps, decay, grad_step, mean_step, root_bias2;
  T* param;
  Means<T> means;
  TANDEM_HD void operator()(std::int64_t i) const {
    const T p = param[i];
    const auto now = means.take(i, p);
    const T direction = grad_step * now.grad + mean_step * now.m;
    param[i] = decay * p - direction / (std::sqrt(now.v) / root_bias2 + eps);
  }
};

template <class T>
struct Radam {
  T eps, decay, step_size;
  bool is_adaptive;
  T* param;
  Means<T> means;
  TANDEM_HD void operator()(std::int64_t i) const {
    const T p = param[i];
    const auto now = means.take(i, p);
    const T divisor = is_adaptive ? std::sqrt(now.v) + eps : T(1);
    param[i] = decay * p - step_size * now.m / divisor;
  }
};

template <class T>
Means<T> means_of(const MeanNumbers& k, const void* grad, void* m, void* v) {
  return {T(1 - k.beta1),
          T(k.beta2),
          T(1 - k.beta2),
          T(k.l2),
          static_cast<const T*>(grad),
          static_cast<T*>(m),
          static_cast<T*>(v)};
}

template <class S>
void adam(const S& s,
          DType t,
          std::int64_t n,
          const AdamNumbers& k,
          void* param,
          const void* grad,
          void* m,
          void* v) {
  with_float(t, [&]<class T>() {
    for_each(s,
             n,
             Adam<T>{T(k.means.eps),
                     T(k.means.decay),
                     T(k.step_size),
                     T(k.root_bias2),
                     static_cast<T*>(param),
                     means_of<T>(k.means, grad, m, v)});
  });
}

template <class S>
void nadam(const S& s,
           DType t,
           std::int64_t n,
           const NadamNumbers& k,
           void* param,
           const void* grad,
           void* m,
           void* v) {
  with_float(t, [&]<class T>() {
    for_each(s,
             n,
             Nadam<T>{T(k.means.eps),
                      T(k.means.decay),
                      T(k.grad_step),
                      T(k.mean_step),
                      T(k.root_bias2),
                      static_cast<T*>(param),
                      means_of<T>(k.means, grad, m, v)});
  });
}

template <class S>
void radam(const S& s,
           DType t,
           std::int64_t n,
           const RadamNumbers& k,
           void* param,
           const void* grad,
           void* m,
           void* v) {
  with_float(t, [&]<class T>() {
    for_each(s,
             n,
             Radam<T>{T(k.means.eps),
                      T(k.means.decay),
                      T(k.step_size),
                      k.is_adaptive,
                      static_cast<T*>(param),
                      means_of<T>(k.means, grad, m, v)});
  });
}

}  // namespace tandem::kernels
