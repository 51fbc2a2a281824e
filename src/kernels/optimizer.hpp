// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tandem/core/dtype.hpp"

#include "kernels/for_each.hpp"

// Updates of `n` flat elements of one float type in one pass. Arrays do not overlap.
namespace tandem::kernels {

struct SgdNumbers {
  double lr;
  double weight_decay;
  double old_share;   ///< momentum; 0 in the first step, in which the buffer becomes the gradient
  double new_share;   ///< 1 - dampening; 1 in the first step
  double grad_share;  ///< of the direction: 1 with Nesterov, else 0
  double buf_share;   ///< of the direction: momentum with Nesterov, else 1
};

/// Without momentum.
template <class S>
void sgd(const S& s, DType t, std::int64_t n, const SgdNumbers& k, void* param, const void* grad);
/// With momentum. @param buf  momentum buffer; updated.
template <class S>
void sgd_momentum(const S& s,
                  DType t,
                  std::int64_t n,
                  const SgdNumbers& k,
                  void* param,
                  const void* grad,
                  void* buf);

struct RmspropNumbers {
  double lr;
  double alpha;
  double eps;
  double weight_decay;
  double momentum;
};

/// @param v     running mean of the squared gradient; updated.
/// @param mean  running mean of the gradient, which makes v a variance; updated. Null: not centred.
/// @param buf   momentum buffer; updated. Null: no momentum.
template <class S>
void rmsprop(const S& s,
             DType t,
             std::int64_t n,
             const RmspropNumbers& k,
             void* param,
             const void* grad,
             void* v,
             void* mean,
             void* buf);

struct AdagradNumbers {
  double lr;  ///< of this step
  double eps;
  double weight_decay;
};

/// @param sum  of squared gradients; updated.
template <class S>
void adagrad(const S& s,
             DType t,
             std::int64_t n,
             const AdagradNumbers& k,
             void* param,
             const void* grad,
             void* sum);

struct AdadeltaNumbers {
  double lr;
  double rho;
  double eps;
  double weight_decay;
};

/// @param v  running mean of the squared gradient; updated.
/// @param u  running mean of the squared step before lr; updated.
template <class S>
void adadelta(const S& s,
              DType t,
              std::int64_t n,
              const AdadeltaNumbers& k,
              void* param,
              const void* grad,
              void* v,
              void* u);

/// average += share * (x - average).
template <class S>
void average(const S& s, DType t, std::int64_t n, double share, const void* x, void* average);
/// Exchanges the values of a and b.
template <class S>
void swap(const S& s, DType t, std::int64_t n, void* a, void* b);

/// x *= factor[0].
template <class S>
void scale(const S& s, DType t, std::int64_t n, void* x, const void* factor);
/// x = min(max(x, -limit), limit); NaN stays.
template <class S>
void clamp(const S& s, DType t, std::int64_t n, void* x, double limit);
/// flag[0] = 1 if an element of x is infinite or NaN; else it stays.
void find_nonfinite(
    const HostStream& s, DType t, std::int64_t n, const void* x, std::int32_t* flag);
void find_nonfinite(
    const CudaStream& s, DType t, std::int64_t n, const void* x, std::int32_t* flag);
void find_nonfinite(
    const RegisteredStream& s, DType t, std::int64_t n, const void* x, std::int32_t* flag);

}  // namespace tandem::kernels
