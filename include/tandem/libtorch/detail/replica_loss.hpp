// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "tandem/ops/loss.hpp"
#include "tandem/runtime/context.hpp"

namespace at {
class Tensor;
}

namespace tandem::libtorch::detail {

/// Puts a replica's loss on tandem's tape, as one op: its backward is PyTorch's backward of `sum`.
/// Called in the replica's job.
///
/// @param sum     a scalar on the replica's graph. @param weight  what the sum is a sum over.
/// @throws InvalidArgument  `sum` is not a scalar, is on another device, or has no graph.
WeightedSum record_loss(const at::Tensor& sum, double weight);
/// The same with the weight as a scalar of PyTorch, for example a count of labels. None: the sum is
/// one over the replica's rows.
WeightedSum record_loss(const at::Tensor& sum, const std::optional<at::Tensor>& weight);
/// The same for a loss that is the mean over the replica's rows.
WeightedSum record_mean_loss(const at::Tensor& mean, RowRange rows);

}  // namespace tandem::libtorch::detail
