// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>

#include "tandem/tensor/factories.hpp"
#include "tandem/tensor/tensor.hpp"

namespace tandem::parallel::test {

inline TensorOptions f64() {
  return {.dtype = DType::f64};
}

/// Matches values that differ from those of `expected` by `tolerance` at most.
inline auto near(const Tensor& expected, double tolerance = 1e-12) {
  return ::testing::Pointwise(::testing::DoubleNear(tolerance), expected.to_doubles());
}

}  // namespace tandem::parallel::test
