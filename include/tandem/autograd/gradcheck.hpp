// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tandem/tensor/tensor.hpp"

namespace tandem::autograd {

struct GradcheckOptions {
  double eps = 1e-6;  ///< the step of the central difference
  double atol = 1e-5;
  double rtol = 1e-4;
  bool fast_mode = false;  ///< move all elements of an input at once
};

/// Compares the gradients of `f` with central differences, element by element.
///
/// With fast_mode it compares the derivative along one fixed direction of length 1. This sums the
/// errors of the elements, so it does not tell which element is wrong.
///
/// @param f       inputs -> outputs; must be deterministic. Fixed weights, different for each
///                element, turn the outputs into a scalar.
/// @param inputs  leaves. Those that require grad are checked, and must be f64.
/// @return  "" if all agree, else a text that names the input, both values and, without fast_mode,
///          the element.
/// @throws InvalidArgument  no input requires grad, or one that does is not f64.
/// @cost  2 evaluations of `f` per input element; with fast_mode, per input.
std::string gradcheck(const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& f,
                      const std::vector<Tensor>& inputs,
                      GradcheckOptions options = {});

/// The same for second derivatives (through create_graph).
std::string gradgradcheck(const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& f,
                          const std::vector<Tensor>& inputs,
                          GradcheckOptions options = {});

}  // namespace tandem::autograd
