// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cuda/narrow_plan.hpp"

#include <algorithm>
#include <cstdlib>

namespace tandem::kernels {
namespace {

using Parts = std::function<void(const KernelPlan&, const FirstPlaces&)>;

/// Places between the first and the last element of an operand.
std::int64_t span_of(const KernelPlan& plan, std::size_t operand) {
  std::int64_t span = 0;
  for (std::size_t d = 0; d < static_cast<std::size_t>(plan.ndim); ++d)
    span += (plan.sizes[d] - 1) * std::abs(plan.strides[operand][d]);
  return span;
}

bool is_narrow(const KernelPlan& plan, std::int64_t limit) {
  if (plan.numel > limit) return false;
  for (std::size_t k = 0; k < KernelPlan::kMaxOperands; ++k)
    if (span_of(plan, k) > limit) return false;
  return true;
}

/// The dimension along which the elements of an operand lie farthest apart; among equal ones the
/// longest.
std::size_t widest_dim(const KernelPlan& plan) {
  std::size_t widest = 0;
  std::int64_t most = -1, longest = 0;
  for (std::size_t d = 0; d < static_cast<std::size_t>(plan.ndim); ++d) {
    if (plan.sizes[d] < 2) continue;
    std::int64_t extent = 0;
    for (const auto& strides : plan.strides)
      extent = std::max(extent, plan.sizes[d] * std::abs(strides[d]));
    if (extent < most || (extent == most && plan.sizes[d] <= longest)) continue;
    widest = d;
    most = extent;
    longest = plan.sizes[d];
  }
  return widest;
}

void cut(const KernelPlan& plan, const FirstPlaces& first, std::int64_t limit, const Parts& f) {
  if (is_narrow(plan, limit) || plan.numel < 2) return f(plan, first);
  const std::size_t d = widest_dim(plan);
  const std::int64_t half = plan.sizes[d] / 2;
  KernelPlan part = plan;
  part.sizes[d] = half;
  part.numel = plan.numel / plan.sizes[d] * half;
  cut(part, first, limit, f);
  FirstPlaces second = first;
  for (std::size_t k = 0; k < second.size(); ++k)
    second[k] += half * plan.strides[k][d];
  part.sizes[d] = plan.sizes[d] - half;
  part.numel = plan.numel - part.numel;
  cut(part, second, limit, f);
}

}  // namespace

bool is_dense(const KernelPlan& plan, std::size_t operands) noexcept {
  if (plan.ndim != 1) return false;
  for (std::size_t k = 0; k < operands; ++k)
    if (plan.strides[k][0] != 1) return false;
  return true;
}

void for_narrow_parts(const KernelPlan& plan, const Parts& f, std::int64_t limit) {
  cut(plan, {}, limit, f);
}

}  // namespace tandem::kernels
