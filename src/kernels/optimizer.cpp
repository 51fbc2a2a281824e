// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/optimizer.hpp"

#include <atomic>
#include <limits>

#include "kernels/optimizer.inl"

namespace tandem::kernels {

void sgd(const HostStream& s,
         DType t,
         std::int64_t n,
         const SgdNumbers& k,
         void* param,
         const void* grad) {
  with_float(t, [&]<class T>() {
    for_each(
        s,
        n,
        Sgd<T>{T(k.lr), T(k.weight_decay), static_cast<T*>(param), static_cast<const T*>(grad)});
  });
}

void sgd_momentum(const HostStream& s,
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

void adam(const HostStream& s,
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
             Adam<T>{T(1 - k.beta1),
                     T(k.beta2),
                     T(1 - k.beta2),
                     T(k.eps),
                     T(k.l2),
                     T(k.decay),
                     T(k.step_size),
                     T(k.root_bias2),
                     static_cast<T*>(param),
                     static_cast<const T*>(grad),
                     static_cast<T*>(m),
                     static_cast<T*>(v)});
  });
}

void scale(const HostStream& s, DType t, std::int64_t n, void* x, const void* factor) {
  with_float(t, [&]<class T>() {
    for_each(s, n, Scale<T>{static_cast<T*>(x), static_cast<const T*>(factor)});
  });
}

void clamp(const HostStream& s, DType t, std::int64_t n, void* x, double limit) {
  with_float(t, [&]<class T>() { for_each(s, n, Clamp<T>{T(limit), static_cast<T*>(x)}); });
}

void find_nonfinite(
    const HostStream& s, DType t, std::int64_t n, const void* x, std::int32_t* flag) {
  with_float(t, [&]<class T>() {
    const T* values = static_cast<const T*>(x);
    for_each_range(s, n, kGrain, [=](std::int64_t begin, std::int64_t end) {
      int bad = 0;
      for (std::int64_t i = begin; i < end; ++i) {
        bad |= static_cast<int>(!(std::abs(values[i]) <= std::numeric_limits<T>::max()));
      }
      if (bad != 0) std::atomic_ref(*flag).store(1, std::memory_order_relaxed);
    });
  });
}

}  // namespace tandem::kernels
