// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tandem/tensor/tensor.hpp"

namespace tandem {

/// Whose statistics batch norm uses in training, and which the running ones (nn::BatchNorm) follow.
enum class BatchNormSync : std::uint8_t {
  synchronised,  ///< of the whole batch, across the replicas of the context's row group
  /// Of this replica's rows; the running ones follow the whole batch's, put together from those of
  /// all replicas, however many rows each has.
  merged,
  per_replica,  ///< of this replica's rows, and so the running ones (PyTorch's DataParallel)
};

/// What follows batch norm in the same pass over memory.
enum class NormActivation : std::uint8_t { none, relu };

/// Batch statistics as found by batch_norm, for the running ones.
struct BatchNormStatistics {
  Tensor mean;         ///< (C)
  Tensor var;          ///< (C), biased
  std::int64_t count;  ///< elements per channel, over all replicas where synchronised
};

struct BatchNormResult {
  Tensor y;
  BatchNormStatistics statistics;
};

/// Normalises each channel (dimension 1) of (N, C) or (N, C, ...) by its batch statistics.
///
/// Collective where synchronised and the context has a row group.
/// @param weight, bias  (C) or undefined.
/// @throws InvalidArgument  one value per channel over the whole batch (as PyTorch refuses it).
BatchNormResult batch_norm(const Tensor& x,
                           const Tensor& weight,
                           const Tensor& bias,
                           double eps,
                           BatchNormSync sync = BatchNormSync::synchronised,
                           NormActivation activation = NormActivation::none);
/// The same with given statistics: evaluation.
Tensor batch_norm_eval(const Tensor& x,
                       const Tensor& running_mean,
                       const Tensor& running_var,
                       const Tensor& weight,
                       const Tensor& bias,
                       double eps,
                       NormActivation activation = NormActivation::none);

/// Normalises the last dimensions, of `normalized_shape`: each row by its own mean and variance.
///
/// @param weight, bias  of `normalized_shape`, or undefined.
/// @throws InvalidArgument  x does not end in `normalized_shape`; both are in the text.
/// @source Ba, Kiros and Hinton, "Layer normalization", arXiv:1607.06450.
Tensor layer_norm(const Tensor& x,
                  const Shape& normalized_shape,
                  const Tensor& weight = {},
                  const Tensor& bias = {},
                  double eps = 1e-5);
/// Normalises groups of channels of (N, C) or (N, C, ...), for each entry of the batch by itself.
///
/// @param weight, bias  (C) or undefined.
/// @throws InvalidArgument  the channels cannot be cut into `num_groups` groups of one size.
/// @source Wu and He, "Group normalization", ECCV 2018.
Tensor group_norm(const Tensor& x,
                  std::int64_t num_groups,
                  const Tensor& weight = {},
                  const Tensor& bias = {},
                  double eps = 1e-5);

}  // namespace tandem
