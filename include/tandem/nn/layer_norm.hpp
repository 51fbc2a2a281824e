// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tandem/nn/module.hpp"

namespace tandem::nn {

struct LayerNormOptions {
  double eps = 1e-5;
  bool elementwise_affine = true;
  bool bias = true;  ///< used only if elementwise_affine
  DType dtype = DType::f32;
  Device device = get_default_device();
};

/// Normalises the last dimensions by each row's own mean and variance.
class LayerNorm : public Module {
 public:
  /// @throws InvalidArgument  if `normalized_shape` is empty or has a size below one.
  explicit LayerNorm(const Shape& normalized_shape, LayerNormOptions options = {});
  explicit LayerNorm(std::int64_t size, LayerNormOptions options = {})
      : LayerNorm(Shape{size}, options) {}

  /// @param x  (..., normalized_shape)
  Tensor forward(const Tensor& x);

  Parameter weight, bias;  ///< of the normalized shape; undefined if not affine or without a bias
  TANDEM_MODULE(LayerNorm, weight, bias)

 private:
  Shape normalized_shape_;
  double eps_;
};

struct GroupNormOptions {
  double eps = 1e-5;
  bool affine = true;
  DType dtype = DType::f32;
  Device device = get_default_device();
};

/// Normalises groups of channels (dimension 1), each entry of the batch by itself.
class GroupNorm : public Module {
 public:
  /// @throws InvalidArgument  if the channels cannot be split into groups of equal size.
  GroupNorm(std::int64_t num_groups, std::int64_t num_channels, GroupNormOptions options = {});

  /// @param x  (N, num_channels, ...)
  Tensor forward(const Tensor& x);

  Parameter weight, bias;  ///< (num_channels); undefined if not affine
  TANDEM_MODULE(GroupNorm, weight, bias)

 private:
  std::int64_t num_groups_, num_channels_;
  double eps_;
};

}  // namespace tandem::nn
