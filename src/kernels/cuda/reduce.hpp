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
  std::int64_t step;  // of `reduced`
  const In* x;
  Out* y;

  struct Run {
    const ReduceElements& of;
    const In* x;
    typename Op::Partial partial;
    TANDEM_HD In load(std::int64_t i) const { return x[of.step != 0 ? i * of.step : of.walk(i)]; }
    template <int kCount>
    TANDEM_HD void add(const In (&values)[kCount]) {
      for (const In& value : values)
        partial = of.op.add(partial, value);
    }
    TANDEM_HD Total total() const { return static_cast<Total>(partial); }
  };
  /// A call: kernels have it many times, and need it seldom.
  [[gnu::noinline]] TANDEM_HD std::int64_t walk(std::int64_t i) const { return reduced(i).at[0]; }
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
  const Places<1> reduced(d.reduced);
  reduce_each(s,
              d.kept.numel,
              d.reduced.numel,
              d.walk,
              detail::ReduceElements<Op, Out>{op,
                                              Places<2>(d.kept),
                                              reduced,
                                              reduced.step(),
                                              x.as<const typename Op::In>(),
                                              y.as<Out>()});
}

}  // namespace tandem::kernels
