// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "tandem/tensor/tensor.hpp"

namespace tandem {

struct DropoutOptions {
  /// The dimension that holds the batch's rows; a row's mask depends only on the row's index in the
  /// whole batch. If this is not set, it is the wrapper's `dim` in a replica, otherwise 0.
  std::optional<int> row_dim = std::nullopt;
};
/// Sets each element to zero with probability `p` and scales the rest by 1 / (1 - p).
///
/// The mask is a pure function of the seed, the count of top-level forwards, the module path and
/// call index, the row's index in the whole batch, and the place in the row. It does not depend on
/// the number of devices. With p == 0 this returns `x`.
/// @throws InvalidArgument  if `p` is outside [0, 1).
Tensor dropout(const Tensor& x, double p, DropoutOptions options = {});

}  // namespace tandem
