// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/reduce.hpp"

#include "kernels/reduce.inl"
#include "kernels/reduce_driver.hpp"

namespace tandem::kernels {
ReducePlan make_reduce_plan(const View& x, const View& y) {
  View target = broadcast_to(y, x.shape);
  // A size of one is not a sign of a reduced dimension, and no stride of it is used.
  const KernelPlan plan = make_kernel_plan({&x, &target});
  const auto last = static_cast<unsigned>(plan.ndim - 1);
  unsigned kept = 0;
  for (unsigned d = 0; d < last; ++d)
    kept |= (plan.strides[1][d] != 0 ? 1U : 0U) << d;
  const unsigned reduced = ((1U << last) - 1) & ~kept;
  return {select_dims(plan, kept),
          select_dims(plan, reduced),
          plan.inner(),
          plan.inner_stride(0),
          plan.inner_stride(1),
          plan.inner_stride(1) == 0};
}

template void sum(const HostStream&, Term, double, const View&, const View&);
template void extremum(const HostStream&, Extremum, const View&, const View&);

void argmax(const HostStream& s, int dim, const View& x, const View& y) {
  // Rows of single elements: x at the first of a row along `dim`, y beside it.
  View first = x;
  first.shape = y.shape;
  KernelPlan plan = make_kernel_plan({&y, &first});
  plan = select_dims(plan, (1U << plan.ndim) - 1);
  if (y.numel() == 0) return;
  const std::int64_t n = x.shape[dim];
  const std::int64_t step = x.strides[dim];
  with_dtype(x.dtype, [&]<class T>() {
    for_each_range(s,
                   plan.numel,
                   std::max<std::int64_t>(1, kGrain / n),
                   [&](std::int64_t begin, std::int64_t end) {
                     Cursor at(plan, begin);
                     for (std::int64_t i = begin; i < end; ++i, at.next()) {
                       const T* row = x.as<const T>() + at.offset(1);
                       std::int64_t best = 0;
                       for (std::int64_t k = 1; k < n; ++k) {
                         const compute_t<T> a = load(row[k * step]);
                         const compute_t<T> b = load(row[best * step]);
                         if (a > b || (a != a && b == b)) best = k;
                       }
                       y.as<std::int64_t>()[at.offset(0)] = best;
                     }
                   });
  });
}

}  // namespace tandem::kernels
