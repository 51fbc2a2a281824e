// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/autocast.hpp"

#include "tandem/core/check.hpp"

namespace tandem {

Autocast::Autocast(DType dtype)
    : scope_([dtype](Context& c) {
        TANDEM_CHECK(is_float16(dtype) || dtype == DType::f32,
                     "Autocast: ",
                     dtype,
                     " is not one of bf16, f16 and f32 (off)");
        c.autocast.reset();
        if (is_float16(dtype)) c.autocast = dtype;
      }) {}

Tensor as_factor(const Tensor& x) {
  const auto& policy = context().autocast;
  const bool casts = policy && x.defined() && (x.dtype() == DType::f32 || is_float16(x.dtype()));
  return casts ? x.to(*policy) : x;
}

Tensor widened(const Tensor& x) {
  return x.defined() && is_float16(x.dtype()) ? x.to(DType::f32) : x;
}

Tensor narrowed(const Tensor& y, DType dtype) {
  return context().autocast ? y : y.to(dtype);
}

Tensor as_range(const Tensor& x) {
  const Context& c = context();
  const bool forward = c.phase != Phase::backward || c.recomputes;
  return c.autocast && forward ? widened(x) : x;
}

}  // namespace tandem
