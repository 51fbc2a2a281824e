// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

namespace tandem::nn {

/// Numbers of a model by tensor: its parameters, buffers or gradients.
using NamedValues = std::map<std::string, std::vector<double>>;

/// How far two models are apart.
struct Difference {
  double value = 0;         ///< relative; infinity where a number of either model is not finite
  std::string tensor = {};  ///< that it was found in; empty where the models are equal
};

/// The measure of docs/exactness.md: per tensor max|a - b| / max(max|b|, 1e-3 of the largest number
/// of b); the largest of all tensors.
///
/// @param b  what a should be.
/// @throws InvalidArgument  names or sizes differ.
Difference difference(const NamedValues& a, const NamedValues& b);

}  // namespace tandem::nn
