// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "kernels/map.hpp"

namespace tandem::kernels {

/// Elements up to which, and places below which, signed numbers of 32 bits count.
inline constexpr std::int64_t kNarrow = INT32_MAX;

/// Where the operands of a part of a plan begin, in elements.
using FirstPlaces = std::array<std::int64_t, KernelPlan::kMaxOperands>;

/// All operands lie in memory in the order of their elements, without gaps.
/// @param operands  of the plan that count, from the first.
bool is_dense(const KernelPlan& plan, std::size_t operands) noexcept;

/// Cuts a plan into parts of which 32 bits count the elements and, from where the part begins, the
/// places of each operand. Calls f(part, first places) for each, in order.
///
/// @param limit  for tests: elements and places of a part.
void for_narrow_parts(const KernelPlan& plan,
                      const std::function<void(const KernelPlan&, const FirstPlaces&)>& f,
                      std::int64_t limit = kNarrow);

}  // namespace tandem::kernels
