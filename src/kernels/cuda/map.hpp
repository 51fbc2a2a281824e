// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <utility>

#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/narrow_plan.hpp"
#include "kernels/cuda/pack.hpp"
#include "kernels/cuda/places.hpp"
#include "kernels/element.hpp"
#include "kernels/map.hpp"

// Elementwise kernels of a GPU: by packs of 16 bytes where all operands are dense, else one element
// a call, walked by the plan of the host's.
namespace tandem::kernels {

namespace detail {

/// Pack `i` of dense operands, of as many elements as 16 bytes have of the widest type.
template <class Op, class Out, class... In>
struct MapPack {
  static constexpr int kWidth = pack_width<Out, In...>;
  Op op;
  std::int64_t n;
  Out* y;
  const void* x[KernelPlan::kMaxOperands];

  TANDEM_HD void operator()(std::int64_t i) const { run(i, std::index_sequence_for<In...>{}); }

 private:
  template <std::size_t... I>
  TANDEM_HD void run(std::int64_t i, std::index_sequence<I...>) const {
    const std::int64_t first = i * kWidth;
    if (first + kWidth <= n)
      return make(y + first, pack_at<kWidth>(static_cast<const In*>(x[I]) + first)...);
    for (std::int64_t k = first; k < n; ++k)
      y[k] = store<Out>(op(load(static_cast<const In*>(x[I])[k])...));
  }
  // By value: of a reference nvcc reads one element after the other.
  TANDEM_HD void make(Out* to, Pack<In, kWidth>... from) const {
    Pack<Out, kWidth> made;
    for (int k = 0; k < kWidth; ++k)
      made.elements[k] = store<Out>(op(load(from.elements[k])...));
    pack_at<kWidth>(to) = made;
  }
};

/// Element `i` of a narrow plan.
template <class Op, class Out, class... In>
struct MapElement {
  Op op;
  Places<1 + sizeof...(In)> places;
  Out* y;
  const void* x[KernelPlan::kMaxOperands];

  TANDEM_HD void operator()(std::int64_t i) const {
    run(static_cast<std::uint32_t>(i), std::index_sequence_for<In...>{});
  }

 private:
  template <std::size_t... I>
  TANDEM_HD void run(std::uint32_t i, std::index_sequence<I...>) const {
    const Place<1 + sizeof...(In)> place = places(i);
    y[place.at[0]] = store<Out>(op(load(static_cast<const In*>(x[I])[place.at[I + 1]])...));
  }
};

template <class Op, class Out, class... In, std::size_t... I>
void map_by_plan(const CudaStream& s,
                 Op op,
                 const KernelPlan& plan,
                 std::index_sequence<I...>,
                 Out* y,
                 const In*... x) {
  constexpr int kWidth = pack_width<Out, In...>;
  if (is_dense(plan, 1 + sizeof...(In)) && is_packed<kWidth>(y) && (is_packed<kWidth>(x) && ...)) {
    return for_each(
        s, (plan.numel + kWidth - 1) / kWidth, MapPack<Op, Out, In...>{op, plan.numel, y, {x...}});
  }
  for_narrow_parts(plan, [&](const KernelPlan& part, const auto& first) {
    for_each(s,
             part.numel,
             MapElement<Op, Out, In...>{
                 op, Places<1 + sizeof...(In)>(part), y + first[0], {(x + first[I + 1])...}});
  });
}

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
  if (plan.numel == 0) return;
  detail::map_by_plan(s,
                      op,
                      plan,
                      std::index_sequence_for<In...>{},
                      y.template as<Out>(),
                      static_cast<const In*>(x.template as<In>())...);
}

}  // namespace tandem::kernels
