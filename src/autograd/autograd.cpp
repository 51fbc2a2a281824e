// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/autograd/autograd.hpp"

#include "tandem/core/check.hpp"

#include "autograd/engine.hpp"

namespace tandem::autograd {

void backward(const std::vector<Tensor>& roots,
              const std::vector<Tensor>& gradients,
              BackwardOptions options) {
  Engine(roots, gradients, {}, options).run();
}

std::vector<Tensor> grad(const std::vector<Tensor>& roots,
                         const std::vector<Tensor>& inputs,
                         const std::vector<Tensor>& gradients,
                         BackwardOptions options) {
  TANDEM_CHECK(!inputs.empty(), "grad: no inputs were named");
  return Engine(roots, gradients, inputs, options).run();
}

}  // namespace tandem::autograd
