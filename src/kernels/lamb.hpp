// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tandem/core/dtype.hpp"

#include "kernels/for_each.hpp"

namespace tandem::kernels {

struct LambNumbers {
  double lr;
  double beta1;
  double beta2;
  double eps;
  double weight_decay;
  double bias1;       ///< 1 - beta1^t
  double root_bias2;  ///< sqrt(1 - beta2^t)
};

/// One step of one parameter of `n` elements: Adam's direction with weight decay, made as long as
/// the parameter is.
///
/// @param m, v  running means of the gradient and of its square; updated.
void lamb(const HostStream& s,
          DType t,
          std::int64_t n,
          const LambNumbers& k,
          void* param,
          const void* grad,
          void* m,
          void* v);
void lamb(const CudaStream& s,
          DType t,
          std::int64_t n,
          const LambNumbers& k,
          void* param,
          const void* grad,
          void* m,
          void* v);
void lamb(const RegisteredStream& s,
          DType t,
          std::int64_t n,
          const LambNumbers& k,
          void* param,
          const void* grad,
          void* m,
          void* v);

}  // namespace tandem::kernels
