// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

namespace tandem::nn {

/// The numbers of a model's parameters, buffers or gradients, by the name of the tensor.
using NamedValues = std::map<std::string, std::vector<double>>;

/// How far two models are apart.
struct Difference {
  double value = 0;         ///< relative; infinity if a number of either model is not finite
  std::string tensor = {};  ///< the tensor with this difference; empty if the models are equal
};

/// The measure of docs/exactness.md.
///
/// For each tensor it is max|a - b| / max(max|b|, 1e-3 * m), where m is the largest magnitude in
/// all of model b. The result is the largest of these.
/// @param b  the reference that `a` is compared with
/// @throws InvalidArgument  if names or sizes differ.
Difference difference(const NamedValues& a, const NamedValues& b);

}  // namespace tandem::nn
