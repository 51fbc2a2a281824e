// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// The kernels' names for a RegisteredStream.

#include "kernels/copy.hpp"
#include "kernels/fill.hpp"
#include "kernels/gpu_kernels.hpp"

namespace tandem::kernels {

void copy(const RegisteredStream& s, const View& x, const View& y) {
  registered_kernels().copy(s.stream, x, y);
}

void fill(const RegisteredStream& s, double value, const View& y) {
  registered_kernels().fill(s.stream, value, y);
}

template <>
void binary(const RegisteredStream& s, Binary op, const View& a, const View& b, const View& y) {
  registered_kernels().binary(s.stream, op, a, b, y);
}

template <>
void binary(const RegisteredStream& s, Binary op, const View& a, double b, const View& y) {
  registered_kernels().binary(s.stream, op, a, b, y);
}

template <>
void scaled_add(
    const RegisteredStream& s, const View& a, const View& b, double alpha, const View& y) {
  registered_kernels().scaled_add(s.stream, a, b, alpha, y);
}

template <>
void scale(const RegisteredStream& s, DType t, std::int64_t n, void* x, const void* factor) {
  registered_kernels().scale(s.stream, t, n, x, factor);
}

template <>
void clamp(const RegisteredStream& s, DType t, std::int64_t n, void* x, double limit) {
  registered_kernels().clamp(s.stream, t, n, x, limit);
}

void find_nonfinite(
    const RegisteredStream& s, DType t, std::int64_t n, const void* x, std::int32_t* flag) {
  registered_kernels().find_nonfinite(s.stream, t, n, x, flag);
}

template <>
void average(const RegisteredStream& s,
             DType t,
             std::int64_t n,
             double share,
             const void* x,
             void* average) {
  registered_kernels().average(s.stream, t, n, share, x, average);
}

template <>
void swap(const RegisteredStream& s, DType t, std::int64_t n, void* a, void* b) {
  registered_kernels().swap(s.stream, t, n, a, b);
}

template <>
void sgd(const RegisteredStream& s,
         DType t,
         std::int64_t n,
         const SgdNumbers& k,
         void* param,
         const void* grad) {
  registered_kernels().sgd(s.stream, t, n, k, param, grad);
}

template <>
void sgd_momentum(const RegisteredStream& s,
                  DType t,
                  std::int64_t n,
                  const SgdNumbers& k,
                  void* param,
                  const void* grad,
                  void* buf) {
  registered_kernels().sgd_momentum(s.stream, t, n, k, param, grad, buf);
}

template <>
void rmsprop(const RegisteredStream& s,
             DType t,
             std::int64_t n,
             const RmspropNumbers& k,
             void* param,
             const void* grad,
             void* v,
             void* mean,
             void* buf) {
  registered_kernels().rmsprop(s.stream, t, n, k, param, grad, v, mean, buf);
}

template <>
void adagrad(const RegisteredStream& s,
             DType t,
             std::int64_t n,
             const AdagradNumbers& k,
             void* param,
             const void* grad,
             void* sum) {
  registered_kernels().adagrad(s.stream, t, n, k, param, grad, sum);
}

template <>
void adadelta(const RegisteredStream& s,
              DType t,
              std::int64_t n,
              const AdadeltaNumbers& k,
              void* param,
              const void* grad,
              void* v,
              void* u) {
  registered_kernels().adadelta(s.stream, t, n, k, param, grad, v, u);
}

template <>
void adam(const RegisteredStream& s,
          DType t,
          std::int64_t n,
          const AdamNumbers& k,
          void* param,
          const void* grad,
          void* m,
          void* v) {
  registered_kernels().adam(s.stream, t, n, k, param, grad, m, v);
}

template <>
void nadam(const RegisteredStream& s,
           DType t,
           std::int64_t n,
           const NadamNumbers& k,
           void* param,
           const void* grad,
           void* m,
           void* v) {
  registered_kernels().nadam(s.stream, t, n, k, param, grad, m, v);
}

template <>
void radam(const RegisteredStream& s,
           DType t,
           std::int64_t n,
           const RadamNumbers& k,
           void* param,
           const void* grad,
           void* m,
           void* v) {
  registered_kernels().radam(s.stream, t, n, k, param, grad, m, v);
}

void lamb(const RegisteredStream& s,
          DType t,
          std::int64_t n,
          const LambNumbers& k,
          void* param,
          const void* grad,
          void* m,
          void* v) {
  registered_kernels().lamb(s.stream, t, n, k, param, grad, m, v);
}

}  // namespace tandem::kernels
