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
struct Rmsprop {
  T lr, new_share, alpha, eps, weight_decay, momentum;
  T* param;
  const T* grad;
  T* v;
  T* mean;  // null: not centred
  T* buf;   // null: no momentum
  TANDEM_HD void operator()(std::int64_t i) const {
    const T g = grad[i] + weight_decay * param[i];
    const T v_new = alpha * v[i] + new_share * g * g;
    v[i] = v_new;
    T spread = v_new;
    if (mean != nullptr) {
      const T m = mean[i] + new_share * (g - mean[i]);
      mean[i] = m;
      spread -= m * m;
    }
    T step = g / (std::sqrt(spread) + eps);
    if (buf != nullptr) {
      step += momentum * buf[i];
      buf[i] = step;
    }
    param[i] -= lr * step;
  }
};

template <class T>
struct Adagrad {
  T lr, eps, weight_decay;
  T* param;
  const T* grad;
  T* sum;
  TANDEM_HD void operator()(std::int64_t i) const {
    const T g = grad[i] + weight_decay * param[i];
    const T total = sum[i] + g * g;
    sum[i] = total;
    param[i] -= lr * g / (std::sqrt(total) + eps);
  }
};

template <class T>
struct Adadelta {
  T lr, rho, new_share, eps, weight_decay;
  T* param;
  const T* grad;
  T* v;
  T* u;
  TANDEM_HD void operator()(std::int64_t i) const {
    const T g = grad[i] + weight_decay * param[i];
    const T v_new = rho * v[i] + new_share * g * g;
    const T step = std::sqrt(u[i] + eps) / std::sqrt(v_new + eps) * g;
    v[i] = v_new;
    u[i] = rho * u[i] + new_share * step * step;
    param[i] -= lr * step;
  }
};

template <class T>
struct Average {
  T share;
  const T* x;
  T* mean;
  // Exact at either end.
  TANDEM_HD void operator()(std::int64_t i) const {
    const T gap = x[i] - mean[i];
    mean[i] = share < T(0.5) ? mean[i] + share * gap : x[i] - (T(1) - share) * gap;
  }
};

template <class T>
struct Swap {
  T* a;
  T* b;
  TANDEM_HD void operator()(std::int64_t i) const {
    const T old = a[i];
    a[i] = b[i];
    b[i] = old;
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

template <class S>
void sgd(const S& s, DType t, std::int64_t n, const SgdNumbers& k, void* param, const void* grad) {
  with_float(t, [&]<class T>() {
    for_each(
        s,
        n,
        Sgd<T>{T(k.lr), T(k.weight_decay), static_cast<T*>(param), static_cast<const T*>(grad)});
  });
}

template <class S>
void sgd_momentum(const S& s,
                  DType t,
                  std::int64_t n,
                  const SgdNumbers& k,
                  void* param,
                  const void* grad,
                  void* buf) {
  with_float(t, [&]<class T>() {
    for_each(s,
             n,
             SgdMomentum<T>{T(k.lr),
                            T(k.weight_decay),
                            T(k.old_share),
                            T(k.new_share),
                            T(k.grad_share),
                            T(k.buf_share),
                            static_cast<T*>(param),
                            static_cast<const T*>(grad),
                            static_cast<T*>(buf)});
  });
}

template <class S>
void rmsprop(const S& s,
             DType t,
             std::int64_t n,
             const RmspropNumbers& k,
             void* param,
             const void* grad,
             void* v,
             void* mean,
             void* buf) {
  with_float(t, [&]<class T>() {
    for_each(s,
             n,
             Rmsprop<T>{T(k.lr),
                        T(1 - k.alpha),
                        T(k.alpha),
                        T(k.eps),
                        T(k.weight_decay),
                        T(k.momentum),
                        static_cast<T*>(param),
                        static_cast<const T*>(grad),
                        static_cast<T*>(v),
                        static_cast<T*>(mean),
                        static_cast<T*>(buf)});
  });
}

template <class S>
void adagrad(const S& s,
             DType t,
             std::int64_t n,
             const AdagradNumbers& k,
             void* param,
             const void* grad,
             void* sum) {
  with_float(t, [&]<class T>() {
    for_each(s,
             n,
             Adagrad<T>{T(k.lr),
                        T(k.eps),
                        T(k.weight_decay),
                        static_cast<T*>(param),
                        static_cast<const T*>(grad),
                        static_cast<T*>(sum)});
  });
}

template <class S>
void adadelta(const S& s,
              DType t,
              std::int64_t n,
              const AdadeltaNumbers& k,
              void* param,
              const void* grad,
              void* v,
              void* u) {
  with_float(t, [&]<class T>() {
    for_each(s,
             n,
             Adadelta<T>{T(k.lr),
                         T(k.rho),
                         T(1 - k.rho),
                         T(k.eps),
                         T(k.weight_decay),
                         static_cast<T*>(param),
                         static_cast<const T*>(grad),
                         static_cast<T*>(v),
                         static_cast<T*>(u)});
  });
}

template <class S>
void average(const S& s, DType t, std::int64_t n, double share, const void* x, void* average) {
  with_float(t, [&]<class T>() {
    for_each(s, n, Average<T>{T(share), static_cast<const T*>(x), static_cast<T*>(average)});
  });
}

template <class S>
void swap(const S& s, DType t, std::int64_t n, void* a, void* b) {
  with_float(t, [&]<class T>() {
    for_each(s, n, Swap<T>{static_cast<T*>(a), static_cast<T*>(b)});
  });
}

template <class S>
void scale(const S& s, DType t, std::int64_t n, void* x, const void* factor) {
  with_float(t, [&]<class T>() {
    for_each(s, n, Scale<T>{static_cast<T*>(x), static_cast<const T*>(factor)});
  });
}

template <class S>
void clamp(const S& s, DType t, std::int64_t n, void* x, double limit) {
  with_float(t, [&]<class T>() { for_each(s, n, Clamp<T>{T(limit), static_cast<T*>(x)}); });
}

}  // namespace tandem::kernels
