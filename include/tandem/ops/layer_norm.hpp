// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tandem/tensor/tensor.hpp"

namespace tandem {

/// Normalises over the last dimensions, whose sizes are `normalized_shape`. Each row is normalised
/// by its own mean and variance.
///
/// @param weight, bias  of shape `normalized_shape`, or undefined
/// @throws InvalidArgument  if x's shape does not end in `normalized_shape`; the message has both.
/// @source Ba, Kiros and Hinton, "Layer normalization", arXiv:1607.06450.
Tensor layer_norm(const Tensor& x,
                  const Shape& normalized_shape,
                  const Tensor& weight = {},
                  const Tensor& bias = {},
                  double eps = 1e-5);
/// Normalises groups of channels of (N, C) or (N, C, ...), each entry of the batch by itself.
///
/// @param weight, bias  (C) or undefined
/// @throws InvalidArgument  if the channels cannot be split into `num_groups` groups of equal size.
/// @source Wu and He, "Group normalization", ECCV 2018.
Tensor group_norm(const Tensor& x,
                  std::int64_t num_groups,
                  const Tensor& weight = {},
                  const Tensor& bias = {},
                  double eps = 1e-5);

}  // namespace tandem
