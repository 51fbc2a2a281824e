// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tandem/tensor/tensor.hpp"

namespace tandem {

/// Which statistics batch norm uses in training, and which ones the running statistics of
/// nn::BatchNorm follow.
enum class BatchNormSync : std::uint8_t {
  synchronised,  ///< those of the whole batch, across the replicas of the context's row group
  /// Each replica uses the statistics of its own rows. The running statistics follow those of the
  /// whole batch, merged from all replicas, however many rows each of them has.
  merged,
  per_replica,  ///< both are those of this replica's rows (as in PyTorch's DataParallel)
};

/// The activation that follows batch norm in the same pass over memory.
enum class NormActivation : std::uint8_t { none, relu };

/// Batch statistics that batch_norm found, for updating the running statistics.
struct BatchNormStatistics {
  Tensor mean;         ///< (C)
  Tensor var;          ///< (C), biased
  std::int64_t count;  ///< elements per channel of the rows at hand
  /// f64 (): elements per channel over all replicas, on x's device. Undefined if the rows at hand
  /// are all that count.
  Tensor count_of_all;
};

struct BatchNormResult {
  Tensor y;
  BatchNormStatistics statistics;
};

/// Normalises each channel (dimension 1) of (N, C) or (N, C, ...) by its batch statistics.
///
/// This is a collective operation if synchronised and the context has a row group.
/// @param weight, bias  (C) or undefined
/// @throws InvalidArgument  if there is only one value per channel for the statistics, as in
///                          PyTorch.
BatchNormResult batch_norm(const Tensor& x,
                           const Tensor& weight,
                           const Tensor& bias,
                           double eps,
                           BatchNormSync sync = BatchNormSync::synchronised,
                           NormActivation activation = NormActivation::none);
/// The same with given statistics, for evaluation.
Tensor batch_norm_eval(const Tensor& x,
                       const Tensor& running_mean,
                       const Tensor& running_var,
                       const Tensor& weight,
                       const Tensor& bias,
                       double eps,
                       NormActivation activation = NormActivation::none);

}  // namespace tandem
