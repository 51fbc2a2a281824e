// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <ATen/core/Tensor.h>

namespace tandem::libtorch {

class TorchSource;

/// The sum of `x` over the replicas of the context's row group, on this replica's device and on no
/// graph. Collective.
///
/// @param source  this replica's.
at::Tensor sum_over_group(const at::Tensor& x, const TorchSource& source);
/// The same on PyTorch's graph: backward is the same sum of the gradients.
at::Tensor differentiable_sum_over_group(const at::Tensor& x,
                                         const std::shared_ptr<TorchSource>& source);

}  // namespace tandem::libtorch
