// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/optimizer.hpp"

// Written once for every backend: element i of an update.
namespace tandem::kernels {

template <class T>
struct Sgd {
  T lr, weight_decay;
  T* param;
  const T* grad;
  TANDEM_HD void operator()(std::int64_t i) const {
    param[i] -= lr * (grad[i] + weight_decay * param[i]);
  }
};

template <class T>
struct SgdMomentum {
  T lr, weight_decay, old_share, new_share, grad_share, buf_share;
  T* param;
  const T* grad;
  T* buf;
  TANDEM_HD void operator()(std::int64_t i) const {
    const T g = grad[i] + weight_decay * param[i];
    const T b = old_share * buf[i] + new_share * g;
    buf[i] = b;
    param[i] -= lr * (grad_share * g + buf_share * b);
  }
};

template <class T>
struct Adam {
  T new1, beta2, new2, eps, l2, decay, step_size, root_bias2;  // new = 1 - beta
  T* param;
  const T* grad;
  T* m;
  T* v;
  TANDEM_HD void operator()(std::int64_t i) const {
    const T g = grad[i] + l2 * param[i];
    const T m_new = m[i] + new1 * (g - m[i]);
    const T v_new = beta2 * v[i] + new2 * g * g;
    m[i] = m_new;
    v[i] = v_new;
    param[i] = decay * param[i] - step_size * m_new / (std::sqrt(v_new) / root_bias2 + eps);
  }
};

template <class T>
struct Scale {
  T* x;
  const T* factor;
  TANDEM_HD void operator()(std::int64_t i) const { x[i] *= *factor; }
};

template <class T>
struct Clamp {
  T limit;
  T* x;
  TANDEM_HD void operator()(std::int64_t i) const {
    const T low = x[i] < -limit ? -limit : x[i];
    x[i] = low > limit ? limit : low;
  }
};

}  // namespace tandem::kernels
