// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <gmock/gmock.h>

#include "tandem/tensor/factories.hpp"
#include "tandem/tensor/tensor.hpp"

#include "devices.hpp"

namespace tandem::parallel::test {

inline TensorOptions f64() {
  return {.dtype = DType::f64};
}

/// Matches values that differ from those of `expected` by `tolerance` at most.
inline auto near(const Tensor& expected, double tolerance = 1e-12) {
  return ::testing::Pointwise(::testing::DoubleNear(tolerance), expected.to_doubles());
}

/// Matches what another call of the same ops gives: the same bits on the host, whatever the shapes.
/// A GPU's library multiplies other shapes and layouts by other kernels.
inline auto same_values(const std::vector<double>& expected) {
  return ::testing::Pointwise(::testing::DoubleNear(testing::on_gpus() ? 1e-12 : 0), expected);
}

}  // namespace tandem::parallel::test
