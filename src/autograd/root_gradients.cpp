// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "autograd/root_gradients.hpp"

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/tensor/factories.hpp"

namespace tandem::autograd {

std::vector<Tensor> gradients_of_roots(const std::vector<Tensor>& roots,
                                       std::vector<Tensor> gradients) {
  TANDEM_CHECK(gradients.empty() || gradients.size() == roots.size(),
               "backward: ",
               "got ",
               roots.size(),
               " roots but ",
               gradients.size(),
               " gradients; give one for each root");
  gradients.resize(roots.size());
  for (std::size_t i = 0; i < roots.size(); ++i) {
    const Tensor& root = roots[i];
    TANDEM_CHECK(root.requires_grad(),
                 "backward: ",
                 root.describe(),
                 " is not on the tape; make an input require grad, and compute outside NoGrad");
    if (!gradients[i].defined()) {
      TANDEM_CHECK(root.numel() == 1,
                   "backward: a root of shape ",
                   root.shape(),
                   " is not a scalar; give its gradient");
      const NoGrad off;
      gradients[i] = ones_like(root);
    }
    TANDEM_CHECK(gradients[i].shape() == root.shape() && gradients[i].dtype() == root.dtype() &&
                     gradients[i].device() == root.device(),
                 "backward: the gradient is ",
                 gradients[i].describe(),
                 ", but its root is ",
                 root.describe());
  }
  return gradients;
}

}  // namespace tandem::autograd
