// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/autograd/row_group.hpp"

#include "tandem/autograd/autograd.hpp"
#include "tandem/autograd/tape_context.hpp"

namespace tandem {

const std::shared_ptr<RowGroup>& current_row_group() noexcept {
  return autograd::tape_context().row_group;
}

Tensor sum_over_replicas(const Tensor& x) {
  RowGroup* const group = current_row_group().get();
  if (group == nullptr || group->size() == 1) return x;
  Tensor y = group->all_reduce_sum(x.detach());
  // y_r = sum over s of x_s for every r, so dx_s = sum over r of dy_r: the same collective. The
  // node keeps this context, so the gradient's call finds the same group.
  return autograd::record(
      "sum_over_replicas", std::move(y), {x}, autograd::Formula([](const Tensor& dy) {
        return autograd::Gradients{sum_over_replicas(dy)};
      }));
}

}  // namespace tandem
