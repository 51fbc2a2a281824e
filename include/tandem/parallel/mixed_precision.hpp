// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "tandem/core/dtype.hpp"

namespace tandem::parallel {

/// The types in which ranks that share a module's parameters compute and reduce: PyTorch's
/// MixedPrecisionPolicy. The shares, and the optimizer's state, keep the types of the module's
/// parameters as it was wrapped.
struct MixedPrecisionPolicy {
  /// The type of gathered parameters, and of their gradients. None: the parameters' own.
  std::optional<DType> param_dtype = std::nullopt;
  /// The type in which gradients are added up over the ranks. None: param_dtype.
  std::optional<DType> reduce_dtype = std::nullopt;
  /// The type of the forward's outputs. None: as they come.
  std::optional<DType> output_dtype = std::nullopt;
  /// Whether inputs of the forward of float types are converted to param_dtype.
  bool cast_forward_inputs = true;
};

}  // namespace tandem::parallel
