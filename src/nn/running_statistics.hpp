// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "tandem/ops/batch_norm.hpp"

namespace tandem::nn {

/// The running statistics of a batch norm, which evaluation uses. Tensors of a batch norm's own.
struct RunningStatistics {
  Tensor mean, var;  ///< (C)
  Tensor batches;    ///< i64 scalar: how many were tracked; undefined: nobody counts

  /// Takes the statistics of a batch, in place. One without values is counted, as in PyTorch, and
  /// changes nothing else. With BatchNormSync::merged this is collective over the context's row
  /// group.
  ///
  /// @param momentum  not set: the average over all batches so far, which `batches` counts.
  /// @param sync      what `own` are statistics of: with `merged`, of this replica's rows alone.
  void update(const BatchNormStatistics& own,
              const std::optional<double>& momentum,
              BatchNormSync sync);
};

}  // namespace tandem::nn
