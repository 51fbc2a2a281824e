// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/random.hpp"

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/ops/compare.hpp"

namespace tandem {

Tensor bernoulli(const Tensor& p, const RandomOptions& random) {
  TANDEM_CHECK(is_float(p.dtype()), "bernoulli: needs a float tensor, got ", p.describe());
  const autograd::NoGrad off;
  return lt(rand_like(p, random), p).to(p.dtype());
}

}  // namespace tandem
