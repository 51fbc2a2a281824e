// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "tandem/ops/batch_norm.hpp"

namespace tandem::libtorch {

/// One batch norm in training. What is undefined is left out.
struct BatchNormCall {
  at::Tensor x, weight, bias, running_mean, running_var;
  double momentum, eps;
  bool cudnn;
};

/// A replica's batch norm on a GPU, by PyTorch's ops for it. The running statistics follow the rows
/// of all replicas in the context's row group, of which there are several.
///
/// Collective over the row group, and so is its backward where the rows are synchronised. Waits for
/// the GPU only where the replica has no more than one value per channel.
/// @param sync  whether `x` is normalised by the statistics of all rows, or (merged) of its own.
/// @throws c10::ValueError  there is one value per channel.
at::Tensor batch_norm_of_group(const BatchNormCall& call, BatchNormSync sync);

}  // namespace tandem::libtorch
