// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tandem/tensor/tensor.hpp"

namespace tandem::autograd {

struct GradcheckOptions {
  double eps = 1e-6;  ///< step of the central difference
  double atol = 1e-5;
  double rtol = 1e-4;
  bool fast_mode = false;  ///< moves all elements of an input at once
};

/// Compares the gradients of `f` with central differences, element by element.
///
/// With fast_mode it compares the derivative along one fixed direction of length 1. An error shows
/// as a sum over the elements, which does not tell the element that is wrong.
///
/// @param f       inputs -> outputs; deterministic. A non-scalar output is checked with a fixed
/// random weight.
/// @param inputs  f64 leaves; those that require grad are checked.
/// @return "" if all agree, else a text that names input, index and both values.
/// @cost 2 evaluations of `f` per input element; with fast_mode, per input.
std::string gradcheck(const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& f,
                      const std::vector<Tensor>& inputs,
                      GradcheckOptions options = {});

/// The same for the second derivative (through create_graph).
std::string gradgradcheck(const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& f,
                          const std::vector<Tensor>& inputs,
                          GradcheckOptions options = {});

}  // namespace tandem::autograd
