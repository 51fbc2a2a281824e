// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "nn/default_init.hpp"

#include <cmath>

#include "tandem/nn/init.hpp"
#include "tandem/runtime/context.hpp"

namespace tandem::nn {
namespace {

/// kaiming_uniform with the slope sqrt(5): the bound is 1 / sqrt(fan_in).
Tensor uniform(const Shape& shape, const TensorOptions& options, double fan_in) {
  const ContextScope scope([](Context& c) { c.category = Category::parameter; });
  Tensor x = empty(shape, options);
  const double bound = fan_in == 0 ? 0 : 1 / std::sqrt(fan_in);
  return init::uniform_(x, -bound, bound);
}

}  // namespace

Parameter default_weight(const Shape& shape, const TensorOptions& options) {
  double fan_in = 1;
  for (int d = 1; d < shape.size(); ++d)
    fan_in *= static_cast<double>(shape[d]);
  return uniform(shape, options, fan_in);
}

Parameter default_bias(const Tensor& weight, const TensorOptions& options) {
  return default_bias(weight, weight.size(0), options);
}

Parameter default_bias(const Tensor& weight, std::int64_t size, const TensorOptions& options) {
  return uniform({size}, options, static_cast<double>(init::fans(weight).in));
}

}  // namespace tandem::nn
