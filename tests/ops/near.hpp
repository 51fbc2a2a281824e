// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/autograd/gradcheck.hpp"
#include "tandem/tensor/factories.hpp"
#include "tandem/tensor/tensor.hpp"

#include "devices.hpp"

namespace tandem::testing {

/// max |a - b| <= tolerance * max(1, max |b|); a failure names the index and both values.
inline ::testing::AssertionResult near(const std::vector<double>& a,
                                       const std::vector<double>& b,
                                       double tolerance) {
  if (a.size() != b.size())
    return ::testing::AssertionFailure() << a.size() << " values, wanted " << b.size();
  double scale = 1;
  for (const double v : b)
    scale = std::max(scale, std::abs(v));
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!(std::abs(a[i] - b[i]) <= tolerance * scale)) {
      return ::testing::AssertionFailure()
             << "at " << i << ": " << a[i] << ", wanted " << b[i] << " (largest " << scale << ')';
    }
  }
  return ::testing::AssertionSuccess();
}

inline ::testing::AssertionResult near(const Tensor& a, const Tensor& b, double tolerance) {
  if (a.defined() != b.defined())
    return ::testing::AssertionFailure() << a.describe() << ", wanted " << b.describe();
  if (!a.defined()) return ::testing::AssertionSuccess();
  if (a.shape() != b.shape())
    return ::testing::AssertionFailure() << a.describe() << ", wanted " << b.describe();
  return near(a.to_doubles(), b.to_doubles(), tolerance);
}

/// For sums of some hundred products in `t`.
inline double tolerance_of_sums(DType t) {
  return t == DType::f64 ? 1e-13 : 1e-5;
}

/// Normal numbers, a leaf that requires grad.
inline Tensor leaf(const Shape& shape, DType dtype = DType::f64) {
  return randn(shape, {.dtype = dtype}).requires_grad_();
}

/// How second derivatives are held against differences: on a GPU, whose launches cost more than the
/// work of so few elements, all elements at once.
inline autograd::GradcheckOptions twice() {
  return {.fast_mode = on_gpus()};
}

/// The gradients of f(inputs) weighted by fixed random numbers: fused kernels where create_graph is
/// off, the formulas where it is on.
inline std::vector<Tensor> gradients(const std::function<Tensor(const std::vector<Tensor>&)>& f,
                                     const std::vector<Tensor>& inputs,
                                     autograd::BackwardOptions options = {}) {
  const Tensor y = f(inputs);
  Tensor dy =
      arange(0, static_cast<double>(y.numel()), 1, {.dtype = y.dtype(), .device = y.device()});
  std::vector<double> values = dy.to_doubles();
  for (double& v : values)
    v = std::sin(v);  // no symmetry that a wrong formula could hide behind
  dy = from_host(std::span<const double>(values), y.shape(), y.device()).to(y.dtype());
  return autograd::grad({y}, inputs, {dy}, options);
}

/// Fused kernels and formulas give the same gradients.
inline void expect_fused_is_formula(const std::function<Tensor(const std::vector<Tensor>&)>& f,
                                    const std::vector<Tensor>& inputs,
                                    double tolerance) {
  const std::vector<Tensor> fused = gradients(f, inputs);
  const std::vector<Tensor> formula = gradients(f, inputs, {.create_graph = true});
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_TRUE(near(fused[i], formula[i], tolerance)) << "input " << i;
  }
}

}  // namespace tandem::testing
