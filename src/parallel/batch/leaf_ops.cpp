// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/parallel/leaf_ops.hpp"

#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/index.hpp"

namespace tandem::parallel {

std::vector<Tensor> LeafOps<Tensor>::all_to(const std::vector<Tensor>& parts, Device device) {
  std::vector<Tensor> here;
  for (const Tensor& part : parts)
    here.push_back(part.to(device));
  return here;
}

Tensor LeafOps<Tensor>::cat(const std::vector<Tensor>& parts, int dim) {
  return tandem::cat(parts, dim);
}

Tensor LeafOps<Tensor>::stack(const std::vector<Tensor>& parts) {
  return tandem::stack(parts, 0);
}

Tensor LeafOps<Tensor>::add(const Tensor& a, const Tensor& b) {
  return a + b;
}

Tensor LeafOps<Tensor>::multiply(const Tensor& x, double factor) {
  return x * factor;
}

}  // namespace tandem::parallel
