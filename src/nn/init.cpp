// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/nn/init.hpp"

#include <cmath>

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/tensor/factories.hpp"

namespace tandem::nn::init {
namespace {

TensorOptions options_of(const Tensor& x) {
  return {.dtype = x.dtype(), .device = x.device()};
}

/// Standard deviation by He et al.
double kaiming_deviation(const Tensor& weight, const KaimingOptions& options) {
  const Fans f = fans(weight);
  const std::int64_t fan = options.fan == Fan::in ? f.in : f.out;
  return fan == 0 ? 0
                  : gain(options.nonlinearity, options.slope) / std::sqrt(static_cast<double>(fan));
}

double xavier_deviation(const Tensor& weight, double gain) {
  const Fans f = fans(weight);
  return f.in + f.out == 0 ? 0 : gain * std::sqrt(2.0 / static_cast<double>(f.in + f.out));
}

/// The half width of the uniform distribution of that deviation.
double bound(double deviation) {
  return std::sqrt(3.0) * deviation;
}

}  // namespace

double gain(Nonlinearity nonlinearity, double slope) {
  switch (nonlinearity) {
    case Nonlinearity::linear:
    case Nonlinearity::sigmoid:
      return 1;
    case Nonlinearity::tanh:
      return 5.0 / 3;
    case Nonlinearity::relu:
      return std::sqrt(2.0);
    case Nonlinearity::leaky_relu:
      return std::sqrt(2 / (1 + slope * slope));
  }
  throw InternalError("gain: unknown nonlinearity");
}

Fans fans(const Tensor& weight) {
  TANDEM_CHECK(weight.ndim() >= 2, "fans: needs (out, in, ...), got ", weight.describe());
  std::int64_t field = 1;
  for (int d = 2; d < weight.ndim(); ++d)
    field *= weight.size(d);
  return {.in = weight.size(1) * field, .out = weight.size(0) * field};
}

Tensor& constant_(Tensor& x, double value) {
  const autograd::NoGrad off;
  return x.fill_(value);
}

Tensor& zeros_(Tensor& x) {
  return constant_(x, 0);
}
Tensor& ones_(Tensor& x) {
  return constant_(x, 1);
}

Tensor& uniform_(Tensor& x, double low, double high) {
  const autograd::NoGrad off;
  return x.copy_(rand(x.shape(), options_of(x)) * (high - low) + low);
}

Tensor& normal_(Tensor& x, double mean, double deviation) {
  const autograd::NoGrad off;
  return x.copy_(randn(x.shape(), options_of(x)) * deviation + mean);
}

Tensor& kaiming_uniform_(Tensor& weight, KaimingOptions options) {
  const double b = bound(kaiming_deviation(weight, options));
  return uniform_(weight, -b, b);
}

Tensor& kaiming_normal_(Tensor& weight, KaimingOptions options) {
  return normal_(weight, 0, kaiming_deviation(weight, options));
}

Tensor& xavier_uniform_(Tensor& weight, double gain) {
  const double b = bound(xavier_deviation(weight, gain));
  return uniform_(weight, -b, b);
}

Tensor& xavier_normal_(Tensor& weight, double gain) {
  return normal_(weight, 0, xavier_deviation(weight, gain));
}

}  // namespace tandem::nn::init
