// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Products of 16 bits with a result of 32, which PyTorch has for GPUs alone.

#include <ATen/ATen.h>

#include "stand_in/torch/families.hpp"

namespace tandem::stand_in {
namespace {

at::Tensor mm(const at::Tensor& a, const at::Tensor& b, at::ScalarType type) {
  return at::mm(a.to(type), b.to(type));
}

at::Tensor bmm(const at::Tensor& a, const at::Tensor& b, at::ScalarType type) {
  return at::bmm(a.to(type), b.to(type));
}

at::Tensor addmm(const at::Tensor& x,
                 const at::Tensor& a,
                 const at::Tensor& b,
                 at::ScalarType type,
                 const at::Scalar& beta,
                 const at::Scalar& alpha) {
  return at::addmm(x.to(type), a.to(type), b.to(type), beta, alpha);
}

at::Tensor baddbmm(const at::Tensor& x,
                   const at::Tensor& a,
                   const at::Tensor& b,
                   at::ScalarType type,
                   const at::Scalar& beta,
                   const at::Scalar& alpha) {
  return at::baddbmm(x.to(type), a.to(type), b.to(type), beta, alpha);
}

}  // namespace

void register_widened_products(torch::Library& host) {
  host.impl("mm.dtype", mm);
  host.impl("bmm.dtype", bmm);
  host.impl("addmm.dtype", addmm);
  host.impl("baddbmm.dtype", baddbmm);
}

}  // namespace tandem::stand_in
