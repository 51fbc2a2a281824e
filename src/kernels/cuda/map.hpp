// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <utility>

#include "kernels/cuda/launch.hpp"
#include "kernels/map.hpp"

// Elementwise kernels of a GPU: one call of the functor per element, walked by the plan of the
// host's.
namespace tandem::kernels {

namespace detail {

/// Where element `i` of a plan is in its first `kOperands` operands.
template <int kOperands>
struct Place {
  std::int64_t at[kOperands] = {};

  TANDEM_HD Place(const KernelPlan& plan, std::int64_t i) {
    for (int d = plan.ndim - 1; d > 0; --d) {
      const std::int64_t size = plan.sizes.data()[d];
      const std::int64_t rest = divide(i, size);
      step(plan, d, i - rest * size);
      i = rest;
    }
    step(plan, 0, i);
  }

 private:
  // Most tensors have fewer elements than 32 bits count, and their division is several times
  // faster.
  TANDEM_HD static std::int64_t divide(std::int64_t i, std::int64_t size) {
    if ((i | size) >> 32 == 0)
      return static_cast<std::uint32_t>(i) / static_cast<std::uint32_t>(size);
    return i / size;
  }
  TANDEM_HD void step(const KernelPlan& plan, int d, std::int64_t n) {
    for (int k = 0; k < kOperands; ++k)
      at[k] += n * plan.strides.data()[k].data()[d];
  }
};

template <class Op, class Out, class... In>
struct MapElement {
  Op op;
  KernelPlan plan;
  Out* y;
  const void* x[KernelPlan::kMaxOperands];

  TANDEM_HD void operator()(std::int64_t i) const { run(i, std::index_sequence_for<In...>{}); }

 private:
  template <std::size_t... I>
  TANDEM_HD void run(std::int64_t i, std::index_sequence<I...>) const {
    const Place<1 + sizeof...(In)> place(plan, i);
    y[place.at[0]] = store<Out>(op(load(static_cast<const In*>(x[I])[place.at[I + 1]])...));
  }
};

}  // namespace detail

/// A plan whose elements are counted in row-major order, whatever the operands' layout.
///
/// @param operands  of one shape.
inline KernelPlan make_row_major_plan(std::initializer_list<const View*> operands) {
  const View& first = **operands.begin();
  KernelPlan plan;
  plan.numel = first.numel();
  for (int d = 0; d < first.shape.size(); ++d) {
    const auto at = static_cast<std::size_t>(plan.ndim++);
    plan.sizes[at] = first.shape[d];
    std::size_t k = 0;
    for (const View* v : operands)
      plan.strides[k++][at] = v->strides[d];
  }
  if (plan.ndim == 0) plan.sizes[static_cast<std::size_t>(plan.ndim++)] = 1;
  return plan;
}

/// y = op(x...), element by element. `op` is a functor over numbers (compute_t), marked TANDEM_HD.
///
/// @param x  of y's shape: broadcast them first (broadcast_to). May be `y` itself.
template <class Out, class... In, class Op, class... Views>
void map(const CudaStream& s, Op op, const View& y, const Views&... x) {
  static_assert(sizeof...(In) == sizeof...(Views) && sizeof...(In) < KernelPlan::kMaxOperands);
  const KernelPlan plan = make_kernel_plan({&y, &x...});
  for_each(s,
           plan.numel,
           detail::MapElement<Op, Out, In...>{op, plan, y.template as<Out>(), {x.data...}});
}

}  // namespace tandem::kernels
