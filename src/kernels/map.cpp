// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/map.hpp"

#include <cstdlib>

namespace tandem::kernels {
namespace {

using Index = std::array<int, kMaxDims>;

// Dimensions of more than one element, outermost in the output's memory first. Stable, so that
// equal strides (of an expanded output) keep the logical order.
int order_dims(const View& y, Index& order) {
  const auto* strides = y.strides.data();
  int n = 0;
  for (int d = 0; d < y.shape.size(); ++d) {
    if (y.shape.data()[d] == 1) continue;
    int at = n++;
    for (; at > 0; --at) {
      const int before = order[static_cast<std::size_t>(at - 1)];
      if (std::abs(strides[before]) >= std::abs(strides[d])) break;
      order[static_cast<std::size_t>(at)] = before;
    }
    order[static_cast<std::size_t>(at)] = d;
  }
  return n;
}

// The last dimension of the plan and `d` are one for every operand.
bool merges(const KernelPlan& plan, std::initializer_list<const View*> operands, int d) {
  const auto last = static_cast<std::size_t>(plan.ndim - 1);
  std::size_t k = 0;
  for (const View* v : operands) {
    if (plan.strides[k++][last] != v->strides.data()[d] * v->shape.data()[d]) return false;
  }
  return true;
}

}  // namespace

Cursor::Cursor(const KernelPlan& plan, std::int64_t row) noexcept : plan_(&plan) {
  for (auto d = static_cast<std::size_t>(plan.ndim - 1); d-- > 0;) {
    index_[d] = row % plan.sizes[d];
    row /= plan.sizes[d];
    for (std::size_t k = 0; k < KernelPlan::kMaxOperands; ++k)
      offsets_[k] += index_[d] * plan.strides[k][d];
  }
}

KernelPlan select_dims(const KernelPlan& plan, unsigned dims) {
  KernelPlan chosen;
  chosen.numel = 1;
  for (int i = 0; i < plan.ndim; ++i) {
    if ((dims >> i & 1U) == 0) continue;
    const auto from = static_cast<std::size_t>(i);
    const auto to = static_cast<std::size_t>(chosen.ndim++);
    chosen.sizes[to] = plan.sizes[from];
    chosen.numel *= plan.sizes[from];
    for (std::size_t k = 0; k < KernelPlan::kMaxOperands; ++k)
      chosen.strides[k][to] = plan.strides[k][from];
  }
  chosen.sizes[static_cast<std::size_t>(chosen.ndim++)] = 1;
  return chosen;
}

KernelPlan make_kernel_plan(std::initializer_list<const View*> operands) {
  const View& y = **operands.begin();
  KernelPlan plan;
  plan.numel = y.numel();
  Index order{};
  const int n = order_dims(y, order);
  for (int i = 0; i < n; ++i) {
    const int d = order[static_cast<std::size_t>(i)];
    const bool merge = plan.ndim > 0 && merges(plan, operands, d);
    const auto at = static_cast<std::size_t>(merge ? plan.ndim - 1 : plan.ndim);
    plan.sizes[at] = (merge ? plan.sizes[at] : 1) * y.shape.data()[d];
    std::size_t k = 0;
    for (const View* v : operands)
      plan.strides[k++][at] = v->strides.data()[d];
    if (!merge) ++plan.ndim;
  }
  if (plan.ndim == 0) {  // one element
    plan.ndim = 1;
    plan.sizes[0] = 1;
    for (auto& strides : plan.strides)
      strides[0] = 1;
  }
  return plan;
}

View broadcast_to(const View& x, const Shape& shape) {
  View v{x.data, x.dtype, shape, Strides::filled(shape.size(), 0)};
  const int skip = shape.size() - x.shape.size();
  for (int d = 0; d < x.shape.size(); ++d) {
    if (x.shape.data()[d] != 1) v.strides.begin()[skip + d] = x.strides.data()[d];
  }
  return v;
}

}  // namespace tandem::kernels
