// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/map.hpp"
#include "kernels/reduce.inl"

// A GPU's driver of reductions: any strides, by reduce_each.
namespace tandem::kernels {
namespace detail {

/// The dimensions of x that are kept, with y beside them, and those that are reduced.
struct Dimensions {
  KernelPlan kept;     // x, y
  KernelPlan reduced;  // x
  Walk walk;

  Dimensions(const View& x, const View& y) {
    const View target = broadcast_to(y, x.shape);
    const KernelPlan plan = make_kernel_plan({&x, &target});
    unsigned bits = 0;
    for (int d = 0; d < plan.ndim; ++d)
      bits |= (plan.strides[1][static_cast<std::size_t>(d)] != 0 ? 1U : 0U) << d;
    kept = select_dims(plan, bits);
    reduced = select_dims(plan, ~bits);
    walk = plan.inner_stride(1) == 0 ? Walk::along : Walk::across;
  }
};

/// A functor of reduce.inl over elements with strides.
template <class Op, class Out>
struct ReduceElements {
  using Total = typename Op::Total;
  using In = typename Op::In;
  Op op;
  Places<2> kept;
  Places<1> reduced;
  const In* x;
  Out* y;

  struct Run {
    const ReduceElements& of;
    const In* x;
    typename Op::Partial partial;
    TANDEM_HD void add(std::int64_t i) { partial = of.op.add(partial, x[of.reduced(i).at[0]]); }
    TANDEM_HD Total total() const { return static_cast<Total>(partial); }
  };
  TANDEM_HD Run run(std::int64_t output) const {
    return {*this, x + kept(output).at[0], op.partial()};
  }
  TANDEM_HD Total join(Total a, Total b) const { return op.join(a, b); }
  TANDEM_HD void store(std::int64_t output, Total total) const {
    y[kept(output).at[1]] = op.template finish<Out>(total);
  }
};

}  // namespace detail

/// y = the reduction of x by `op`, a functor of reduce.inl.
template <class Out, class Op>
void reduce(const CudaStream& s, const Op& op, const View& x, const View& y) {
  if (x.numel() == 0) return map<Out>(s, Nothing<Out, Op>{op}, y);
  const detail::Dimensions d(x, y);
  reduce_each(
      s,
      d.kept.numel,
      d.reduced.numel,
      d.walk,
      detail::ReduceElements<Op, Out>{
          op, Places<2>(d.kept), Places<1>(d.reduced), x.as<const typename Op::In>(), y.as<Out>()});
}

}  // namespace tandem::kernels
