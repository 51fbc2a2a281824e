// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tandem/core/dtype.hpp"

#include "kernels/for_each.hpp"

// Updates by running means of the gradient and of its square: Adam and its relatives. `n` flat
// elements of one float type in one pass. Arrays do not overlap.
namespace tandem::kernels {

/// What they have in common.
struct MeanNumbers {
  double beta1;
  double beta2;
  double eps;
  double l2;     ///< added to the gradient, times the parameter
  double decay;  ///< the parameter is multiplied by it
};

struct AdamNumbers {
  MeanNumbers means;
  double step_size;   ///< lr / (1 - beta1^t)
  double root_bias2;  ///< sqrt(1 - beta2^t)
};

/// @param m, v  running means of the gradient and of its square; updated.
template <class S>
void adam(const S& s,
          DType t,
          std::int64_t n,
          const AdamNumbers& k,
          void* param,
          const void* grad,
          void* m,
          void* v);

struct NadamNumbers {
  MeanNumbers means;
  double grad_step;   ///< lr times the share of the gradient itself
  double mean_step;   ///< lr times the share of its running mean
  double root_bias2;  ///< sqrt(1 - beta2^t)
};

/// @param m, v  as adam.
template <class S>
void nadam(const S& s,
           DType t,
           std::int64_t n,
           const NadamNumbers& k,
           void* param,
           const void* grad,
           void* m,
           void* v);

struct RadamNumbers {
  MeanNumbers means;
  double step_size;
  bool is_adaptive;  ///< the mean of the gradient is divided by the root of that of its square
};

/// @param m, v  as adam.
template <class S>
void radam(const S& s,
           DType t,
           std::int64_t n,
           const RadamNumbers& k,
           void* param,
           const void* grad,
           void* m,
           void* v);

}  // namespace tandem::kernels
